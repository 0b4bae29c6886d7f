/** The sandbox's worker thread: takes one request and sends one answer. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { once } from 'node:events'
import { parentPort } from 'node:worker_threads'
import { SmartModuleTrap } from '../../../shared/smartmodule/abi.ts'
import { configFaults } from './config-faults.ts'
import { openBatchInstance } from '../../../shared/smartmodule/host/batch-instance.ts'
import { openExtismInstance } from '../../../shared/smartmodule/host/extism-instance.ts'
import { boundMemory, InspectionError, inspectModule } from './inspect.ts'
import { traceRecords } from './trace.ts'
import type { SandboxAnswer, SandboxRequest, SandboxStep } from './sandbox.ts'

function inspect(upload: Uint8Array): SandboxAnswer {
  const binary = boundMemory(upload)
  let module: WebAssembly.Module
  try {
    module = new WebAssembly.Module(binary)
  } catch (error) {
    throw new InspectionError(`the binary does not compile: ${reasonOf(error)}`)
  }
  return { inspected: { ...inspectModule(module), binary } }
}

async function start(steps: SandboxStep[], isDryRun: boolean): Promise<SandboxAnswer> {
  const faults = steps.flatMap(({ parameters, document }) =>
    configFaults(parameters, document.config).map((fault) => ({ ...fault, step: document.step })),
  )
  if (faults.length > 0) return { faults }
  if (isDryRun) return { started: true }
  for (const { binary, kind, extismFunction, document } of steps) {
    const module = await WebAssembly.compile(new Uint8Array(binary))
    if (kind === 'batch') await openBatchInstance(module, document, () => {})
    else await openExtismInstance(module, extismFunction ?? 'process', document, () => {})
  }
  return { started: true }
}

async function answer(asked: SandboxRequest): Promise<SandboxAnswer> {
  switch (asked.task) {
    case 'inspect':
      return inspect(asked.binary)
    case 'start':
      return start(asked.steps, asked.isDryRun)
    case 'trace': {
      const kernel = await WebAssembly.compile(new Uint8Array(asked.kernel))
      const traced = await traceRecords(kernel, asked.steps, asked.sinkSchemaId, asked.records, (progress) =>
        parentPort!.postMessage({ progress }),
      )
      return { traced }
    }
  }
}

const [request] = (await once(parentPort!, 'message')) as [SandboxRequest]
try {
  parentPort!.postMessage(await answer(request))
} catch (error) {
  const refused = reasonOf(error)
  parentPort!.postMessage(error instanceof SmartModuleTrap ? { refused, step: error.step } : { refused })
}
