/** The pipelines that use a SmartModule: what each runs, and the way to the newest version: at once, or as a canary first. */
import type { GetSmartModuleResponse, ListPipelinesResponse, Pipeline } from '../../../../clients/typescript/src/generated/types.ts'
import { getTagged, HOME, patch } from '../api.ts'
import { useAction, useQuery } from '../query.ts'
import { may } from '../session.ts'
import { stepsOf } from '../steps.ts'
import { Refused } from './failures.tsx'
import { Table } from './table.tsx'

type Module = Pick<GetSmartModuleResponse, 'id' | 'version'>

function Running({ pipelineId, module }: { pipelineId: string; module: Module }) {
  const path = `/pipelines/${pipelineId}`
  const pipeline = useQuery<Pipeline>(path)
  const { run, isBusy, failure } = useAction()
  async function swap(step: number): Promise<void> {
    const [now, tag] = await getTagged<Pipeline>(path)
    const processors = stepsOf(now).map((own, index) =>
      index === step && own.module_id === module.id ? { ...own, version: module.version } : own,
    )
    await patch(path, { processors }, tag)
    pipeline.refresh()
  }
  return (
    <td>
      {pipeline.data?.processors.map(
        ({ module_id, version }, index) =>
          module_id === module.id && (
            <div key={index}>
              step {index + 1} runs {version}{' '}
              {version !== module.version && may('pipelines:write') && (
                <>
                  <button type="button" disabled={isBusy} onClick={() => void run(() => swap(index))}>
                    Swap to {module.version}
                  </button>{' '}
                  <a href={`${HOME.pathname}pipelines/${pipelineId}?canary=${index + 1}@${module.version}`}>Canary first</a>
                </>
              )}
            </div>
          ),
      )}
      <Refused failure={failure ?? pipeline.failure} />
    </td>
  )
}

/** Each asks for its pipeline. */
const SHOWN_MAX = 20

export function InPipelines({ module, pipelines }: { module: Module; pipelines: ListPipelinesResponse['pipelines'] }) {
  return (
    <section aria-labelledby="used">
      <h2 id="used">In pipelines</h2>
      {pipelines.length === 0 && <p class="quiet">No pipeline uses it.</p>}
      {pipelines.length > 0 && (
        <Table label="Pipelines that use it">
          {pipelines.slice(0, SHOWN_MAX).map(({ id, name }) => (
            <tr key={id}>
              <th scope="row">
                <a href={`${HOME.pathname}pipelines/${id}`}>{name}</a>
              </th>
              <Running pipelineId={id} module={module} />
            </tr>
          ))}
        </Table>
      )}
      {pipelines.length > SHOWN_MAX && (
        <p class="quiet">
          the first {SHOWN_MAX} of {pipelines.length}
        </p>
      )}
    </section>
  )
}
