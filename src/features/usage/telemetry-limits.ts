import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { runInSlices } from '../../base/async/cooperative.ts'
import { Memo } from '../../base/memo.ts'
import { RateLimit } from '../../serve/http/rate-limit.ts'
import type { ReceivedRequest, Routes } from '../../serve/http/server/listener.ts'
import { parsedBody, readBody } from '../../serve/http/server/request-body.ts'
import type { RequestBody } from '../../serve/http/server/request-body.ts'
import { sendJson, sendRefusal } from '../../serve/http/server/response.ts'
import type { ShareHolderOf } from '../../serve/http/server/share-holder.ts'
import { admits, servingFor } from '../../serve/mcp/core/methods.ts'
import type { Serving } from '../../serve/mcp/core/methods.ts'
import { viewOfRing } from '../../serve/view.ts'
import type { View, ViewName } from '../../serve/view.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { installNamesIn } from '../../sync/catalog/install-names.ts'
import type { InstallableSkill } from '../../sync/catalog/install-names.ts'
import type { MarketplaceConfig } from '../marketplace/marketplace-config.ts'
import type { Plugin } from '../marketplace/plugins.ts'
import { pluginsIn } from '../marketplace/plugins.ts'
import { TELEMETRY_CLIENT } from './known-clients.ts'
import { logsRequestIn, MOST_RECORDS } from './logs-request.ts'
import type { LogsRequest, SkillActivation } from './logs-request.ts'

const { gunzip } = process.getBuiltinModule('node:zlib')

/** The bounds on the requests of all callers. They outlive a change of the routes. */
export class TelemetryLimits {
  readonly rate: RateLimit
  #open = 0

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.rate = new RateLimit(RATE, now)
  }

  /** Takes a place for a body in memory; `undefined` if there is none. */
  enter(): Disposable | undefined {
    if (this.#open >= MOST_OPEN) return undefined
    this.#open += 1
    return { [Symbol.dispose]: () => void (this.#open -= 1) }
  }
}

interface TelemetryParts {
  readonly serving: Serving
  readonly marketplace: MarketplaceConfig | undefined
  readonly limits: TelemetryLimits
  readonly holderOf: ShareHolderOf
}

/**
 * The receiver of logs in OTLP/HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp), in JSON. It counts the skills that
 * Claude Code activates as loads, and those that it could not as failures, and drops everything else.
 */
export function telemetryRoutes(parts: TelemetryParts): Routes {
  const receiver = new LogsReceiver(parts)
  return {
    '/v1/logs': {
      methods: ['POST'],
      scope: 'telemetry',
      audit: 'refusals',
      answer: (request, response, asked) => receiver.answer(request, response, asked),
    },
  }
}

class LogsReceiver {
  readonly #parts: TelemetryParts
  readonly #skills: ActivatedSkills

  constructor(parts: TelemetryParts) {
    this.#parts = parts
    this.#skills = new ActivatedSkills(parts.serving, parts.marketplace)
  }

  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    { principal, view }: ReceivedRequest,
  ): Promise<void> {
    const { limits, holderOf } = this.#parts
    const holder = holderOf(request, principal)
    const waitS = limits.rate.take(holder)
    if (waitS !== undefined) return sendRefusal(response, 429, TOO_MANY, { 'retry-after': String(waitS) })
    if (!isJson(request)) return sendRefusal(response, 415, NOT_JSON)
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding !== 'gzip' && encoding !== 'identity') return sendRefusal(response, 415, NOT_GZIP)
    const { serving } = this.#parts
    using place = admits(serving, view.name, holder) ? limits.enter() : undefined
    if (place === undefined) return sendRefusal(response, 503, BUSY, { 'retry-after': '5' })
    const body = await bodyOf(request, encoding === 'gzip')
    if (!body.ok) {
      const { status, message, headers } = FAULTS[body.why]
      return sendRefusal(response, status, message, headers)
    }
    const logs = logsRequestIn(body.json)
    if (logs === undefined) return sendRefusal(response, 400, 'The body is not an ExportLogsServiceRequest')
    for (const activation of logs.activations) {
      const found = await this.#skills.find(activation, view)
      if (found === undefined) continue
      const { source, skill } = found
      const part = { source, path: skill.path, digest: skill.digest, isDocument: true }
      const { isFailed } = activation
      const answered = { part, serving: { view: view.name }, client: TELEMETRY_CLIENT }
      serving.use?.({ ...answered, principal: principal?.id, isFailed })
    }
    return sendJson(response, 200, exportResponse(logs))
  }
}

/** With no record rejected, a message is a warning. An `int64` is a text in JSON. */
function exportResponse({ rejected, nameless }: LogsRequest): object {
  if (rejected > 0) return { partialSuccess: { rejectedLogRecords: String(rejected), errorMessage: NOT_TAKEN } }
  return nameless > 0 ? { partialSuccess: { rejectedLogRecords: '0', errorMessage: NO_NAMES } } : {}
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/json *(;|$)/i.test(headers['content-type'] ?? '')
}

async function bodyOf(request: IncomingMessage, isGzip: boolean): Promise<RequestBody | Unpacked> {
  const chunks: Buffer[] = []
  if (!(await readBody(request, MOST_BYTES, (bytes) => chunks.push(bytes)))) return { ok: false, why: 'too-large' }
  const bytes = Buffer.concat(chunks)
  const unpacked = isGzip ? await unpack(bytes) : bytes
  return unpacked instanceof Uint8Array ? parsedBody(unpacked) : unpacked
}

interface Unpacked {
  readonly ok: false
  readonly why: 'too-large' | 'not-gzip'
}

async function unpack(bytes: Buffer): Promise<Buffer | Unpacked> {
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: MOST_BYTES })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ERR_BUFFER_TOO_LARGE') return { ok: false, why: 'too-large' }
    if (code.startsWith('Z_')) return { ok: false, why: 'not-gzip' }
    throw error
  }
}

/** The limit of a body, packed and unpacked: the default of gRPC for one message. */
const MOST_BYTES = 4 * 1024 * 1024

/** The bodies that are in memory at once. */
const MOST_OPEN = 16

/** For each token, or without one for each address. A session of Claude Code exports every five seconds. */
const RATE = { requests: 600, perMs: 60_000 }

const TOO_MANY = `More than ${RATE.requests} exports a minute; raise OTEL_LOGS_EXPORT_INTERVAL`
const NOT_JSON = 'Only application/json is read: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json'
const NOT_GZIP = 'The only content encoding that is read is gzip: set OTEL_EXPORTER_OTLP_COMPRESSION=gzip, or none'
const BUSY = 'Too many exports at once'
const NOT_TAKEN = `An export has ${MOST_RECORDS} records at most, and each of a skill needs its name`
const NO_NAMES = 'Skills without a name are not counted: set OTEL_LOG_TOOL_DETAILS=1'

interface Fault {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

const FAULTS: Readonly<Record<(Extract<RequestBody, { ok: false }> | Unpacked)['why'], Fault>> = {
  // The rest of the body is not read, so the connection cannot be reused.
  'too-large': {
    status: 413,
    message: `The body is over ${MOST_BYTES} bytes; send fewer records at once`,
    headers: { connection: 'close' },
  },
  'not-gzip': { status: 400, message: 'The body is not gzip' },
  'not-json': { status: 400, message: 'The body is not JSON' },
  'too-deep': { status: 400, message: 'The JSON is nested too deep' },
}

/**
 * Finds the served skill that an activation is of, by the names under which agents have skills on their disks: the names
 * for installers, and those in the plugins of the marketplace.
 */
class ActivatedSkills {
  readonly #serving: Serving
  readonly #marketplace: MarketplaceConfig | undefined
  readonly #plugins = new Memo<Catalog, Promise<ReadonlyMap<string, Plugin>>>()

  /** `marketplace`: without it, no skill of a plugin is found. */
  constructor(serving: Serving, marketplace: MarketplaceConfig | undefined) {
    this.#serving = serving
    this.#marketplace = marketplace
  }

  /** `undefined` if the name is that of no skill in the view, or of several. */
  async find({ name, plugin, marketplace }: SkillActivation, view: View): Promise<InstallableSkill | undefined> {
    if (plugin === undefined) {
      const { listed, besides } = await installNamesIn(servingFor(this.#serving, view.name).registry.catalog)
      return listed.get(name) ?? besides.get(name)
    }
    const config = this.#marketplace
    if (config === undefined || (marketplace !== undefined && marketplace !== config.name)) return undefined
    const current = Object.hasOwn(config.renames, plugin) ? config.renames[plugin] : plugin
    // Each pack is a plugin of its name.
    if (current === undefined || view.packs?.has(current) === false) return undefined
    const plugins = await this.#pluginsIn(viewOfRing(view.ring), config)
    return plugins.get(current)?.skills.get(name)
  }

  async #pluginsIn(view: ViewName, config: MarketplaceConfig): Promise<ReadonlyMap<string, Plugin>> {
    const packs = this.#serving.views?.packs ?? []
    return this.#plugins.of(servingFor(this.#serving, view).registry.catalog, async (catalog) => {
      const { plugins } = await runInSlices(pluginsIn(catalog, packs, config, undefined))
      return new Map(plugins.map((plugin) => [plugin.name, plugin]))
    })
  }
}
