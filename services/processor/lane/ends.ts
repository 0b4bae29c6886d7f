/** The ways in which a round ends in a lane without an outcome. */

/** The round did not finish; the task replays it from the committed offset. */
export class RoundLost extends Error {}

/** Records of the round want another attempt, after this time. */
export class RetryLater extends Error {
  readonly afterMs: number
  constructor(afterMs: number) {
    super('records failed whose policy is to try again')
    this.afterMs = afterMs
  }
}

/** A SmartModule refused its config, trapped at start, was quarantined, or a record was refused: the pipeline can't go on by itself. */
export class ChainFailed extends Error {
  readonly quarantined: string | undefined
  constructor(message: string, quarantined?: string) {
    super(message)
    this.quarantined = quarantined
  }
}
