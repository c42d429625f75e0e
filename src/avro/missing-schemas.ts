/** More schemas than any topic has. */
const MOST_SCHEMAS = 1_000;

/** Ends a reading at the first record whose schema is not loaded: loading takes a response, and records come without pause. */
export class MissingSchema extends Error {
  readonly schemaId: number;

  constructor(schemaId: number) {
    super(`schema id ${schemaId} is not loaded`);
    this.schemaId = schemaId;
  }
}

/** Reads until no schema is missing: after each MissingSchema it is loaded, and the reading begins again. */
export async function readWithSchemas<Found>(
  read: () => Promise<Found>,
  load: (schemaId: number) => Promise<unknown>,
): Promise<Found> {
  for (let schemas = 0; schemas < MOST_SCHEMAS; schemas++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof MissingSchema)) throw error;
      await load(error.schemaId);
    }
  }
  throw new Error(`The records name more than ${MOST_SCHEMAS} schemas.`);
}
