/** What a SmartModule is tried on: the newest records of a stream, a pipeline’s dead letters, or those of a test that is kept with it. */
import type {
  GetSmartModuleVersionResponse,
  ListPipelinesResponse,
  ListStreamsResponse,
  Pipeline,
  TestSmartModuleRequest,
} from '../../../../clients/typescript/src/generated/types.ts'

/** How many records a trial takes. */
const LIMIT = 20

export type Tests = NonNullable<GetSmartModuleVersionResponse['tests']>
export type TrialStep = TestSmartModuleRequest['processors'][number]

// As the address has a choice.
export const recordsOfStream = (id: string): string => `stream:${id}`
export const lettersOf = (pipelineId: string): string => `letters:${pipelineId}`
const recordsOfTest = (index: number): string => `test:${index}`

/** The kind of a choice, and what it names. */
export function partsOf(choice: string): { kind: string; id: string } {
  const [kind = '', id = ''] = choice.split(/:([^]*)/)
  return { kind, id }
}

/** The test that is chosen, if one is. */
export const testOf = (choice: string, tests: Tests): Tests[number] | undefined => {
  const { kind, id } = partsOf(choice)
  return kind === 'test' ? tests[Number(id)] : undefined
}

export function RecordsChoice({
  value,
  onChange,
  streams,
  pipelines,
  tests,
}: {
  value: string
  onChange(next: string): void
  streams: ListStreamsResponse['streams']
  pipelines: ListPipelinesResponse['pipelines']
  tests: Tests
}) {
  return (
    <label>
      Records{' '}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <optgroup label="The newest of a stream">
          {streams.map(({ id, name }) => (
            <option key={id} value={recordsOfStream(id)}>
              {name}
            </option>
          ))}
        </optgroup>
        {pipelines.length > 0 && (
          <optgroup label="Those that failed in it">
            {pipelines.map(({ id, name }) => (
              <option key={id} value={lettersOf(id)}>
                Dead letters of {name}
              </option>
            ))}
          </optgroup>
        )}
        {tests.length > 0 && (
          <optgroup label="Kept with it">
            {tests.map(({ title }, index) => (
              <option key={index} value={recordsOfTest(index)}>
                Test {title || index + 1}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </label>
  )
}

/** The trial of this step on the chosen records. `pipeline` is the one whose dead letters are chosen: all of its chain runs. */
export function trialOf(
  choice: string,
  step: TrialStep,
  { module, pipeline, tests }: { module: { id: string; name: string } | undefined; pipeline: Pipeline | undefined; tests: Tests },
): TestSmartModuleRequest {
  const test = testOf(choice, tests)
  if (test) return { processors: [step], records: test.records }
  if (!pipeline || !module) return { processors: [step], stream_id: partsOf(choice).id, limit: LIMIT }
  const at = stepIn(pipeline, module.id)
  return {
    processors: pipeline.processors.map(({ module_id, version, config }, index) => (index === at ? step : { module_id, version, config })),
    pipeline_id: pipeline.id,
    dead_letters: { module: module.name },
    limit: LIMIT,
  }
}

/** Which step of the chain, from 0, is the SmartModule. */
export const stepIn = ({ processors }: Pipeline, moduleId: string): number =>
  processors.findIndex(({ module_id }) => module_id === moduleId)
