// Writes step traces for `kraftcheck conform` (docs/foreign-traces.md). Copy it; it needs nothing
// but a function that writes a line: of Node, `text => fs.writeSync(1, text)`.

export type Json = string | number | boolean | null | Json[] | { [field: string]: Json };

/** Rows, messages and steps are objects: what is left out is hidden, not unchanged. */
export type Fields = { [field: string]: Json };

export class Emitter {
  private readonly write: (text: string) => void;

  /**
   * Writes the header.
   * @param write must have written when it returns, so that what was written survives a crash.
   * @param rows "full" if every field will be there, else "partial".
   */
  constructor(
    write: (text: string) => void,
    producer: string,
    rows: "full" | "partial",
    constants: Fields,
  ) {
    this.write = write;
    this.line({ format: "kraftcheck steps 1", producer, rows, constants });
  }

  /** Writes one handler call of a node. Call it before anything awaits. */
  step(node: number, step: Fields): void {
    this.line({ ...step, node });
  }

  private line(fields: Fields): void {
    this.write(JSON.stringify(fields) + "\n");
  }
}

/** For a first look: the trace of one step. */
export function example(write: (text: string) => void): void {
  const voters: Fields = { protocol: "quorum", voters: [1, 2, 3], fetchMaxRecords: 2 };
  const emitter = new Emitter(write, "emitter", "partial", voters);
  emitter.step(1, {
    input: { type: "ElectionTimeout" },
    after: { role: "Prospective", epoch: 0 },
  });
}
