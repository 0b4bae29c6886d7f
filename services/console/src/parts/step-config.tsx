/** A step's config as a form, by the parameters of one version of its SmartModule. */
import type { GetSmartModuleVersionResponse } from '../../../../clients/typescript/src/generated/types.ts'
import type { Detail } from '../api.ts'
import { useQuery } from '../query.ts'
import type { Schema } from './config-fields.tsx'
import { Loaded } from './failures.tsx'
import { SchemaForm } from './schema-form.tsx'

export function StepConfig({
  moduleId,
  version,
  value,
  onChange,
  faults = [],
}: {
  moduleId: string
  version: string
  value: Record<string, unknown>
  onChange(next: Record<string, unknown>): void
  faults?: readonly Detail[]
}) {
  const module = useQuery<GetSmartModuleVersionResponse>(`/smartmodules/${moduleId}/versions/${version}`)
  return (
    <Loaded query={module}>
      {({ config: { parameters } }) => (
        <SchemaForm schema={(parameters as Schema | undefined) ?? {}} value={value} faults={faults} onChange={onChange} />
      )}
    </Loaded>
  )
}
