/** The parts of a connection's socket that show its use and its end. */
export interface UsedSocket {
  readonly bytesWritten: number;
  readonly destroyed: boolean;
  readonly readableEnded: boolean;
}

/**
 * Whether a connection that a producer's last transaction used has ended since. kafkajs connects again, and says nothing.
 * Other connections do not count: brokers close those that are idle.
 */
export class UsedConnections {
  readonly #open: () => readonly UsedSocket[];
  #begun = new Map<UsedSocket, number>();
  #used: readonly UsedSocket[] = [];

  constructor(open: () => readonly UsedSocket[]) {
    this.#open = open;
  }

  begins(): void {
    this.#begun = new Map(this.#open().map((socket) => [socket, socket.bytesWritten]));
  }

  ended(): void {
    const all = new Set([...this.#begun.keys(), ...this.#open()]);
    this.#used = [...all].filter((socket) => socket.bytesWritten !== this.#begun.get(socket));
  }

  isOneLost(): boolean {
    return this.#used.some(({ destroyed, readableEnded }) => destroyed || readableEnded);
  }
}
