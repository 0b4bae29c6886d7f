/** `dps mcp`: the service as tools for a language model, over stdio (Model Context Protocol). It reads; writing must be allowed twice. */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { Command } from 'commander'
import { z } from 'zod'
import { writeJson, type Manifest, type Session } from '../../../typescript/src/index.ts'
import { operationsIn } from '../api-document.ts'
import { parsed } from '../manifest-file.ts'
import { MANIFEST_TIMEOUT_MS } from './manifests.ts'
import { contextOf, idOf, WORKSHOP_TIMEOUT_MS, type Context, type Io } from '../context.ts'
import { messagesIn } from '../mcp-messages.ts'
import { outcomeOf, textOf } from '../outcome.ts'

/** More is cut, because a model reads all of it. */
const ANSWER_CHARACTERS_MAX = 60_000

type Service = Pick<Context, 'dps' | 'url'>

type Tool<Shape extends z.ZodRawShape> = {
  name: string
  description: string
  /** Scopes that the key must have for the tool to be there at all. */
  needs: readonly Session['scopes'][number][]
  isWriting?: boolean
  /** Of its requests, where they take longer than others. */
  timeoutMs?: number
  input: Shape
  run(context: Service, input: z.output<z.ZodObject<Shape>>): Promise<unknown>
}

const tool = <Shape extends z.ZodRawShape>(value: Tool<Shape>): Tool<Shape> => value

const pipeline = z.string().describe('Name or id of a pipeline')
const manifest = z.string().describe('A manifest in YAML, with sources of SmartModules as {language: typescript, code: …}')

const planned = {
  prune: z.boolean().default(false).describe('Delete members of the set that the manifest no longer names'),
  replace: z.array(z.string()).default([]).describe('Names of pipelines that may be deleted and made anew, which loses their position'),
}

const manifestOf = (text: string): Manifest => parsed(text, 'the manifest') as Manifest

const TOOLS = [
  tool({
    name: 'overview',
    description: 'All pipelines with status, reason, rate, lag and dead letters; those that need attention come first.',
    needs: ['pipelines:read'],
    input: {},
    run: ({ dps }) => dps.overview.get(),
  }),
  tool({
    name: 'describe',
    description: 'One pipeline (with status and accounting), stream or SmartModule.',
    needs: ['pipelines:read', 'streams:read', 'smartmodules:read'],
    input: { kind: z.enum(['pipeline', 'stream', 'smartmodule']), name: z.string().describe('Name or id') },
    async run({ dps }, { kind, name }) {
      const id = await idOf({ dps }, kind, name)
      if (kind === 'stream') return dps.streams.get(id)
      if (kind === 'smartmodule') return dps.smartmodules.get(id)
      const [definition, status, accounting] = await Promise.all([
        dps.pipelines.get(id),
        dps.pipelines.getStatus(id),
        dps.pipelines.getAccounting(id),
      ])
      return { definition, status, accounting }
    },
  }),
  tool({
    name: 'records',
    description: 'Records of a stream with partition, offset, time, key and headers: the newest, or from a partition and offset on.',
    needs: ['streams:read'],
    input: {
      stream: z.string().describe('Name or id of a stream'),
      partition: z.number().int().min(0).optional(),
      offset: z.number().int().min(0).optional(),
      limit: z.number().int().min(1).max(50).default(10),
    },
    run: async ({ dps }, { stream, ...query }) => dps.streams.getRecords(await idOf({ dps }, 'stream', stream), query),
  }),
  tool({
    name: 'explain',
    description:
      'What happened to one record of a pipeline’s source: what each step made of it, and why it was delivered, filtered or failed.',
    needs: ['pipelines:read', 'streams:read'],
    timeoutMs: WORKSHOP_TIMEOUT_MS,
    input: { pipeline, partition: z.number().int().min(0), offset: z.number().int().min(0) },
    run: async ({ dps }, { pipeline: name, ...query }) => dps.pipelines.explainRecord(await idOf({ dps }, 'pipeline', name), query),
  }),
  tool({
    name: 'test_module',
    description:
      'Compile a SmartModule in TypeScript (AssemblyScript with the SDK `dps`) and run it over the newest records of a stream; deploys and writes nothing. Faults come with line and column.',
    needs: ['smartmodules:read', 'streams:read'],
    timeoutMs: WORKSHOP_TIMEOUT_MS,
    input: {
      code: z.string(),
      stream: z.string().describe('Name or id of a stream'),
      config: z.record(z.string(), z.unknown()).default({}),
      limit: z.number().int().min(1).max(50).default(10),
    },
    async run({ dps }, { code, stream, config, limit }) {
      const source = { language: 'typescript' as const, code }
      const { details } = await dps.smartmodules.compile({ source })
      if (details.length > 0) return { faults: details }
      const stream_id = await idOf({ dps }, 'stream', stream)
      return dps.smartmodules.test({ processors: [{ source, config }], stream_id, from: 'latest', limit })
    },
  }),
  tool({
    name: 'dead_letters',
    description:
      'What a pipeline has failed on: groups by step, SmartModule, error and pattern of the message, and the newest records of them.',
    needs: ['pipelines:read', 'streams:read'],
    input: { pipeline, limit: z.number().int().min(0).max(20).default(5) },
    async run({ dps }, { pipeline: name, limit }) {
      const id = await idOf({ dps }, 'pipeline', name)
      const { groups } = await dps.pipelines.listDeadLetterGroups(id)
      if (limit === 0) return { groups }
      const { dead_letters } = await dps.pipelines.listDeadLetters(id, { status: 'pending', sort: '-failed_at', page_size: limit })
      return { groups, newest: dead_letters }
    },
  }),
  tool({
    name: 'plan',
    description: 'What applying a manifest would change, and the plan’s hash; changes nothing.',
    needs: ['pipelines:read', 'streams:read', 'smartmodules:read'],
    timeoutMs: MANIFEST_TIMEOUT_MS,
    input: { manifest, ...planned },
    run: ({ dps }, { manifest: text, ...how }) => dps.manifests.plan({ manifest: manifestOf(text), ...how }),
  }),
  tool({
    name: 'docs',
    description: 'Operations of the HTTP API: all of them in a line each, or one with its parameters, body and answers.',
    needs: [],
    input: { operation: z.string().optional().describe('An operationId') },
    run: async ({ url }, { operation }) => operationsIn(await (await fetch(new URL('/openapi.json', url))).json(), operation),
  }),
  tool({
    name: 'apply',
    description: 'Apply a manifest: exactly the plan with this hash, or nothing.',
    needs: ['pipelines:write', 'streams:write', 'smartmodules:write'],
    isWriting: true,
    timeoutMs: MANIFEST_TIMEOUT_MS,
    input: { manifest, hash: z.string().describe('Of the plan, which had the same prune and replace'), ...planned },
    run: ({ dps }, { manifest: text, ...how }) => dps.manifests.apply({ manifest: manifestOf(text), ...how }),
  }),
  tool({
    name: 'redrive',
    description:
      'Run dead letters of a pipeline through its chain again, those of one step, error and pattern or all; count them first with dry_run.',
    needs: ['pipelines:write'],
    isWriting: true,
    input: {
      pipeline,
      step: z.number().int().min(1).optional(),
      error: z.string().optional(),
      pattern: z.string().optional().describe('Of a group of dead letters, as it is shown'),
      dry_run: z.boolean().default(true),
    },
    async run({ dps }, { pipeline: name, dry_run, ...filter }) {
      return dps.pipelines.redriveDeadLetters(await idOf({ dps }, 'pipeline', name), { dry_run, filter })
    },
  }),
] as const

/** How long a line takes from standard input to its tool, and an answer to standard output. */
const ANSWERED_MS = 200

function answer(value: unknown): CallToolResult {
  const text = typeof value === 'string' ? value : writeJson(value, 1)
  const shown = text.length > ANSWER_CHARACTERS_MAX ? `${text.slice(0, ANSWER_CHARACTERS_MAX)}… (cut: ask for less)` : text
  return { content: [{ type: 'text', text: shown }] }
}

/** The server with the tools that the key's scopes and `mayWrite` allow; `within` opens a client whose requests may take so long. */
async function openServer(
  within: (timeoutMs?: number) => Service,
  mayWrite: boolean,
  onCall: (call: Promise<unknown>) => void,
): Promise<McpServer> {
  const service = within()
  const [{ scopes }, { McpServer }] = await Promise.all([service.dps.session.get(), import('@modelcontextprotocol/sdk/server/mcp.js')])
  const server = new McpServer({ name: 'dps', version: '0.1.0' })
  for (const each of TOOLS) {
    const { name, description, needs, input, ...rest } = each
    const isWriting = 'isWriting' in rest
    if ((isWriting && !mayWrite) || needs.some((scope) => !scopes.includes(scope))) continue
    const run = each.run as Tool<z.ZodRawShape>['run']
    const own = 'timeoutMs' in rest ? within(rest.timeoutMs) : service
    server.registerTool(
      name,
      // An argument that there isn't is named, not passed over.
      { description, inputSchema: z.strictObject(input), annotations: { readOnlyHint: !isWriting } },
      async (given: Record<string, unknown>) => {
        try {
          const call = run(own, given)
          onCall(call)
          return answer(await call)
        } catch (error) {
          return { ...answer(textOf(outcomeOf(error).told)), isError: true }
        }
      },
    )
  }
  return server
}

export function addMcpCommand(program: Command, io: Io): void {
  program
    .command('mcp')
    .description('serve tools to a language model over stdio; reads only, unless --write is given and the key may write')
    .option('--write', 'also the tools that change something')
    .action(async ({ write = false }: { write?: boolean }, command: Command) => {
      const within = (timeoutMs?: number) => contextOf(io, command, timeoutMs === undefined ? {} : { timeoutMs })
      const calls = new Set<Promise<unknown>>()
      const server = await openServer(within, write, (call) => {
        calls.add(call)
        void call.catch(() => {}).finally(() => calls.delete(call))
      })
      const ended = Promise.withResolvers<void>()
      io.signal.addEventListener('abort', () => ended.resolve())
      // What was asked before is still answered.
      io.stdin.on('end', () =>
        setTimeout(() => void Promise.allSettled(calls).then(() => setTimeout(ended.resolve, ANSWERED_MS)), ANSWERED_MS),
      )
      // Loaded here, because other commands should not wait for it.
      const [{ StdioServerTransport }, { JSONRPCMessageSchema }] = await Promise.all([
        import('@modelcontextprotocol/sdk/server/stdio.js'),
        import('@modelcontextprotocol/sdk/types.js'),
      ])
      const isMessage = (value: unknown): value is JSONRPCMessage => JSONRPCMessageSchema.safeParse(value).success
      await server.connect(new StdioServerTransport(messagesIn(io.stdin, isMessage, io.write)))
      await ended.promise
      await server.close()
    })
}
