import { z } from 'zod'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Config } from '../config/config.ts'
import { sourceNamed, sourcesNamed } from '../config/named-sources.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import type { ControlHandler, ControlHandlers } from './control-server.ts'
import { expectConfig, expectMode, personIn } from './same-config.ts'

/** A request as a client sends it. */
export interface RequestType<Sent, Answer, Event> {
  readonly name: string
  readonly params: ParamsForm<Sent, unknown>
  readonly answer: z.ZodType<Answer>
  /** The form of what arrives before the answer. */
  readonly event: z.ZodType<Event> | undefined
}

/** A request as a process with these parts answers it. */
export interface ControlRequest<Parts> {
  readonly name: string
  /** True if in a hub of several processes the one that leads answers, because the content of the hub changes. */
  readonly isForLeader: boolean
  /** True if it can replace the daemon: it runs beside the requests to the daemon. */
  readonly isOfProcess: boolean
  readonly answerFrom: (parts: Parts, params: unknown, exchange: Exchange<unknown>) => Promise<unknown>
}

/** The part of the daemon that a request awaits which has changed what is served. */
export interface LinkedParts {
  /** Resolves when the folders of agents have what is served now. */
  readonly linked: () => Promise<void>
}

/** The way back to the client. */
export interface Exchange<Event> {
  readonly send: (event: Event) => void
  /** Aborted when the client is gone, or the daemon is replaced. */
  readonly signal: AbortSignal
}

/** The way back to the client, and who is there. */
interface Asked<Event> extends Exchange<Event> {
  /** The person at the client, for the history of decisions. */
  readonly by: string
}

interface Definition<Parts, Sent, Params, In, Answer, EventIn, Event> {
  readonly name: string
  /**
   * The values that a client must share with this process. `config`: configuration and mode; the default. `mode`: the
   * mode alone, for a reader of the state folder. `nothing`: for another process of the hub, or about this process.
   */
  readonly checks?: 'config' | 'mode' | 'nothing'
  readonly isForLeader?: boolean
  readonly isOfProcess?: boolean
  readonly params: ParamsForm<Sent, Params>
  readonly answer: z.ZodType<Answer, In>
  readonly event?: z.ZodType<Event, EventIn>
  readonly run: (parts: Parts, params: Params, asked: Asked<EventIn>) => Promise<In>
}

/** Defines a request once, for the processes that send it and for those that answer it. */
export function defineRequest<Parts, Sent, Params, In, Answer, EventIn = never, Event = never>(
  definition: Definition<Parts, Sent, Params, In, Answer, EventIn, Event>,
): RequestType<Sent, Answer, Event> & ControlRequest<Parts & { readonly config: Config }> {
  const { name, checks = 'config', isForLeader = false, isOfProcess = false, params, answer, event, run } = definition
  return {
    name,
    isForLeader,
    isOfProcess,
    params,
    answer,
    event,
    async answerFrom(parts, sent, exchange) {
      const { config } = parts
      if (checks === 'config') expectConfig(sent, config)
      if (checks !== 'nothing') expectMode(sent, config)
      return run(parts, params.read(sent, config), { ...exchange, by: personIn(sent) })
    },
  }
}

/** The handlers of these requests, for the control socket. */
export function handlersOf<Parts>(
  parts: Parts,
  ...requests: readonly ControlRequest<NoInfer<Parts>>[]
): ControlHandlers {
  const handlers = requests.map(({ name, answerFrom }): readonly [string, ControlHandler] => [
    name,
    async (params, send, signal) => answerFrom(parts, params, { send, signal }),
  ])
  return Object.fromEntries(handlers)
}

/** The answer of a request that only succeeds or fails. */
export const NOTHING = z.unknown().transform((): void => {})

/** The params of a request: what a client sends, and what that means in a configuration. */
export interface ParamsForm<Sent, Params> {
  /** Only a type. */
  readonly sent?: Sent
  readonly read: (sent: unknown, config: Config) => Params
}

type Form<Shape extends z.ZodRawShape> = z.ZodObject<Shape>

/** The params of a request about everything. */
export function paramsOf<Shape extends z.ZodRawShape>(
  shape: Shape,
): ParamsForm<z.input<Form<Shape>>, z.output<Form<Shape>>> {
  const form = z.object(shape)
  return { read: (sent = {}) => parse(form, sent) }
}

/** The params of a request about one configured source. */
export function paramsOfSource(): ParamsForm<SentSource, OfSource>
export function paramsOfSource<Shape extends z.ZodRawShape>(
  shape: Shape,
): ParamsForm<z.input<Form<Shape>> & SentSource, z.output<Form<Shape>> & OfSource>
export function paramsOfSource(shape: z.ZodRawShape = {}): ParamsForm<SentSource, OfSource> {
  const form = z.object(shape)
  return {
    read(sent, config) {
      const own = parse(form, sent)
      return { ...own, source: sourceNamed(parse(SOURCE, sent).source, config) }
    },
  }
}

/** The params of a request about these configured sources, or all if none is named. */
export function paramsOfSources(): ParamsForm<SentSources, OfSources>
export function paramsOfSources<Shape extends z.ZodRawShape>(
  shape: Shape,
): ParamsForm<z.input<Form<Shape>> & SentSources, z.output<Form<Shape>> & OfSources>
export function paramsOfSources(shape: z.ZodRawShape = {}): ParamsForm<SentSources, OfSources> {
  const form = z.object(shape)
  return {
    read(sent, config) {
      const own = parse(form, sent)
      return { ...own, sources: sourcesNamed(parse(SOURCES, sent).sources, config) }
    },
  }
}

interface OfSource {
  readonly source: SourceId
}

interface OfSources {
  readonly sources: readonly SourceId[]
}

const SOURCE = z.object({ source: z.string() })
const SOURCES = z.object({ sources: z.array(z.string()).readonly().optional() })
type SentSource = z.input<typeof SOURCE>
type SentSources = z.input<typeof SOURCES>

/** The part of a request that the form describes. */
function parse<Params>(form: z.ZodType<Params>, sent: unknown): Params {
  const { data, success } = form.safeParse(sent)
  if (!success) throw new OperatorError('bad-request', 'The request lacks something, or has it in another form')
  return data
}
