// How large the pieces and buffers of decoding are. They are one value that is passed in, so that a short body of a test can
// span many pieces and slabs.

/** In bytes. */
export interface DecodingSizes {
  /** Input is taken in pieces of this size: other work gets its turn between them. */
  readonly piece: number;
  /** The input buffer at first. */
  readonly buffer: number;
  readonly slab: number;
}

export const USUAL_SIZES: DecodingSizes = { piece: 32 * 1024, buffer: 128 * 1024, slab: 256 * 1024 };
