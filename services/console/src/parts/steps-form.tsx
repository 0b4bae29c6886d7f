/** A pipeline's chain as a form: its steps in order, each with its SmartModule, version, config and what follows a failure. */
import type {
  GetSmartModuleResponse,
  ListSmartModulesResponse,
  ListSmartModuleVersionsResponse,
} from '../../../../clients/typescript/src/generated/types.ts'
import type { Detail } from '../api.ts'
import { useQuery } from '../query.ts'
import { changed, keyOf, type Step } from '../steps.ts'
import type { Schema } from './config-fields.tsx'
import { Refused } from './failures.tsx'
import { Field } from './field.tsx'
import { SchemaForm, within } from './schema-form.tsx'

const POLICIES = ['dead_letter', 'skip', 'retry', 'fail']

function StepFields({
  step,
  onChange,
  secrets,
  faults,
}: {
  step: Step
  onChange(next: Step): void
  secrets: readonly string[]
  faults: readonly Detail[]
}) {
  const module = useQuery<GetSmartModuleResponse>(`/smartmodules/${step.module_id}`)
  const versions = useQuery<ListSmartModuleVersionsResponse>(`/smartmodules/${step.module_id}/versions?page_size=50`)
  const { version: _version, on_error: _policy, ...others } = step
  if (!module.data) return <Refused failure={module.failure} />
  const { parameters } = module.data.config as { parameters?: Schema }
  return (
    <>
      {module.data.description && <p class="quiet">{module.data.description}</p>}
      <SchemaForm
        key={step.module_id}
        schema={parameters ?? {}}
        value={step.config}
        secrets={secrets}
        faults={within(faults, 'config')}
        onChange={(config) => onChange({ ...step, config })}
      />
      <div class="line">
        <label>
          Version{' '}
          <select
            value={step.version ?? ''}
            onChange={({ currentTarget: { value } }) =>
              onChange(value === '' ? { ...others, ...(step.on_error ? { on_error: step.on_error } : {}) } : { ...step, version: value })
            }
          >
            <option value="">the newest, as of now</option>
            {[
              ...new Set([
                ...(step.version === undefined ? [] : [step.version]),
                ...(versions.data?.versions.map((each) => each.version) ?? []),
              ]),
            ].map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <label>
          A record that fails{' '}
          <select
            value={step.on_error?.policy ?? ''}
            onChange={({ currentTarget: { value } }) =>
              onChange(
                value === ''
                  ? { ...others, ...(step.version ? { version: step.version } : {}) }
                  : { ...step, on_error: { ...step.on_error, policy: value } as Step['on_error'] },
              )
            }
          >
            <option value="">the pipeline’s default</option>
            {POLICIES.map((each) => (
              <option key={each} value={each}>
                {each.replace('_', ' ')}
              </option>
            ))}
          </select>
        </label>
      </div>
    </>
  )
}

export function StepsForm({
  steps,
  onChange,
  modules,
  secrets,
  faults,
}: {
  steps: readonly Step[]
  onChange(next: Step[]): void
  modules: ListSmartModulesResponse['modules']
  secrets: readonly string[]
  /** What was refused, with paths that begin with a step's index. */
  faults: readonly Detail[]
}) {
  const moved = (from: number, to: number): Step[] => {
    const next = steps.toSpliced(from, 1)
    return next.toSpliced(to, 0, steps[from]!)
  }
  return (
    <>
      {steps.map((step, index) => (
        <fieldset key={keyOf(step)}>
          <legend>Step {index + 1}</legend>
          <div class="line">
            <label>
              SmartModule{' '}
              <select
                value={step.module_id}
                onChange={({ currentTarget }) => onChange(changed(steps, index, { module_id: currentTarget.value, config: {} }))}
              >
                {!modules.some(({ id }) => id === step.module_id) && <option value={step.module_id}>{step.module_id}</option>}
                {modules.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <button type="button" class="plain" disabled={index === 0} onClick={() => onChange(moved(index, index - 1))}>
              up
            </button>
            <button type="button" class="plain" disabled={index === steps.length - 1} onClick={() => onChange(moved(index, index + 1))}>
              down
            </button>
            <button type="button" class="plain" onClick={() => onChange(steps.toSpliced(index, 1))}>
              remove
            </button>
          </div>
          <StepFields
            key={step.module_id}
            step={step}
            secrets={secrets}
            faults={within(faults, index)}
            onChange={(next) => onChange(changed(steps, index, next))}
          />
        </fieldset>
      ))}
      <Field name="Add a step">
        <select
          value=""
          onChange={({ currentTarget }) => {
            if (currentTarget.value !== '') onChange([...steps, { module_id: currentTarget.value, config: {} }])
            currentTarget.value = ''
          }}
        >
          <option value="">—</option>
          {modules.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
    </>
  )
}
