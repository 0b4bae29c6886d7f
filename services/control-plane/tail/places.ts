/** What a tail looks at: a topic, how its values are read, and the steps that its records go through first. */
import { sourceCodecOf, type PipelineDefinition, type SourceCodec } from '../../../shared/model/definition.ts'
import { streamCodecOf } from '../definitions/resolve-endpoint.ts'
import { examineSteps } from '../definitions/resolve-steps.ts'
import type { Caller, Deps } from '../deps.ts'
import { invalidRequest, ServiceError } from '../service-error.ts'
import type { Queryable } from '../store/database.ts'
import { findStream, listStreamsOver, type StreamRow } from '../store/streams.ts'

type Step = PipelineDefinition['steps'][number]

export type Place = {
  topic: string
  codec?: SourceCodec | undefined
  /** What SmartModules are told: the pipeline, or nothing where a stream is looked at. */
  pipelineId: string
  /** Its records are dead letters. */
  isDeadLetters: boolean
  /** The chain up to the step that is looked at; none where the topic's records are. */
  steps: Step[]
}

/** The stream's own records. */
export async function placeOfStream(db: Queryable, stream: StreamRow): Promise<Place> {
  return {
    topic: stream.topic,
    pipelineId: '',
    isDeadLetters: false,
    steps: [],
    codec: await streamCodecOf(db, stream),
  }
}

/** `at` as in the contract. Throws ServiceError `conflict` for a step that the pipeline does not have, and for a sink that is no stream. */
export async function placeInPipeline(db: Queryable, definition: PipelineDefinition, at: string): Promise<Place> {
  const { pipeline_id, account_id, sink, dead_letter_topic, steps } = definition
  const source = {
    topic: definition.source.topic,
    codec: sourceCodecOf(definition),
    pipelineId: pipeline_id,
    isDeadLetters: false,
    steps: [],
  }
  if (at === 'source') return source
  // Dead letters keep the source's values.
  if (at === 'dead_letters') return { ...source, topic: dead_letter_topic, isDeadLetters: true }
  if (at === 'sink') {
    // A topic may be adopted by several accounts.
    const found = sink.kind === 'topic' ? await listStreamsOver(db, [sink.topic]) : []
    const [stream] = (await Promise.all(found.map(({ id }) => findStream(db, account_id, id)))).filter((each) => each !== undefined)
    if (!stream) throw new ServiceError('conflict', 'the sink is not a stream: look at the last step instead (at=step:n)')
    return placeOfStream(db, stream)
  }
  const step = Number(at.slice('step:'.length))
  if (step > steps.length)
    throw new ServiceError('conflict', `the pipeline has ${steps.length === 1 ? 'one step' : `${steps.length} steps`}`)
  return { ...source, steps: steps.slice(0, step) }
}

/** The step that keeps the records for which the expression is true. Throws 400 where it is no expression, with its line and column. */
export async function filterStep(
  deps: Pick<Deps, 'db' | 'cacheFolder' | 'workshop'>,
  { accountId }: Caller,
  expression: string,
): Promise<Step> {
  const entry = { module_id: 'dps/cel', config: { filter: expression }, changes_keys: false }
  const { steps, details } = await examineSteps(deps, { id: 'tail', account_id: accountId }, [entry])
  const [step] = steps
  if (!step || details.length > 0) throw invalidRequest(details.map(({ message }) => ({ path: '/query/filter', message })))
  return step.definition
}
