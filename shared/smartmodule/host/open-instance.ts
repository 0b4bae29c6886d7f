/** Opens an instance of a step's SmartModule, of whichever kind it is. */
import type { InitDocument } from '../abi.ts'
import type { Telemetry } from '../call-seed.ts'
import type { SendRequest } from '../../model/plug-in-http.ts'
import { openBatchInstance } from './batch-instance.ts'
import type { StepSpec } from './spec.ts'
import type { StepInstance } from './step.ts'

/**
 * Throws SmartModuleTrap when the instance does not start or refuses its config. `kernel` is the compiled `host/kernel`; `send` is for
 * plug-ins that send HTTP requests. Most chains have batch modules alone, so code for other kinds is loaded with the first module of the
 * kind.
 */
export async function openInstance(
  { module, kind, extismFunction }: Pick<StepSpec, 'module' | 'kind' | 'extismFunction'>,
  document: InitDocument,
  telemetry: Telemetry,
  kernel: WebAssembly.Module,
  send?: SendRequest,
): Promise<StepInstance> {
  switch (kind) {
    case 'batch':
      return openBatchInstance(module, document, telemetry)
    case 'extism': {
      const { openExtismInstance } = await import('./plug-ins/extism.ts')
      return openExtismInstance(module, extismFunction ?? 'process', document, telemetry, kernel, send)
    }
    case 'redpanda': {
      const { openRedpandaInstance } = await import('./plug-ins/redpanda.ts')
      return openRedpandaInstance(module, document, telemetry)
    }
    case 'fluvio': {
      const { openFluvioInstance } = await import('./plug-ins/fluvio.ts')
      return openFluvioInstance(module, document, telemetry)
    }
  }
}
