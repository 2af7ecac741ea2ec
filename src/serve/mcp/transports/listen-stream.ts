import type { ServerResponse } from 'node:http'
import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { runInSlices } from '../../../base/async/cooperative.ts'
import type { ShareHolder } from '../../fair-shares.ts'
import { EventStream } from '../../http/server/event-stream.ts'
import type { EventStreams } from '../../http/server/event-stream.ts'
import type { Principal } from '../../principal.ts'
import type { ViewName } from '../../view.ts'
import type { Serving } from '../core/methods.ts'
import { partsOpenTo } from '../events/list-kinds.ts'
import type { ListPart } from '../events/list-kinds.ts'
import type { Subscriptions, Subscriber } from '../events/subscriptions.ts'
import { servingAmong } from '../resources/find-resource.ts'
import { formsFor } from '../resources/forms.ts'
import { MAX_SUBSCRIPTIONS } from '../rpc/caller.ts'
import { listenResult } from '../rpc/listen-result.ts'
import { invalidParams, noRoomForSubscriptions, tooManySubscriptions } from '../rpc/rpc-error.ts'

const PARAMS = z.looseObject({
  notifications: z.looseObject({
    resourceSubscriptions: z.array(z.string()).optional(),
    resourcesListChanged: z.boolean().optional(),
    promptsListChanged: z.boolean().optional(),
  }),
})

/** The accepted part of a filter: notification kinds that the server sends, and resources that it serves. */
interface Honoured {
  readonly resourceSubscriptions?: readonly string[]
  readonly resourcesListChanged?: true
  readonly promptsListChanged?: true
}

/** The accepted part of a filter, and its URIs: each in the client's spelling, with its canonical form. */
interface Filter {
  readonly honoured: Honoured
  readonly wanted: ReadonlyMap<string, string>
}

/**
 * Parses the filter of a listen request in slices: ten thousand URIs would block others too long. The result matches
 * the catalog served when the promise resolves, for a caller that continues in the same turn. Throws an `RpcError`.
 */
export async function filterOf(
  { params }: Pick<JSONRPCRequest, 'params'>,
  { registry, forms }: Pick<Serving, 'registry' | 'forms'>,
  principal: Principal | undefined,
): Promise<Filter> {
  const parsed = PARAMS.safeParse(params)
  if (!parsed.success) throw invalidParams('`notifications` is required, and is a filter of notifications')
  const { resourceSubscriptions = [], resourcesListChanged, promptsListChanged } = parsed.data.notifications
  const theirs = formsFor(principal, forms)
  const wanted = await servedNow(registry, theirs, resourceSubscriptions)
  if (wanted.size > MAX_SUBSCRIPTIONS) throw tooManySubscriptions()
  const honoured: Honoured = {
    ...(wanted.size > 0 && { resourceSubscriptions: [...wanted.keys()] }),
    ...(resourcesListChanged === true && { resourcesListChanged }),
    ...(promptsListChanged === true && theirs.skillPrompts && { promptsListChanged }),
  }
  return { honoured, wanted }
}

/**
 * Repeats the check if another catalog was published in the meantime. The result then includes added URIs and omits
 * removed ones.
 */
async function servedNow(
  registry: Serving['registry'],
  forms: Serving['forms'],
  uris: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  for (;;) {
    const { catalog } = registry
    const served = await runInSlices(servingAmong(catalog, forms, uris))
    if (catalog === registry.catalog) return served
  }
}

/**
 * Serves `subscriptions/listen` (2026-07-28) on the request's own stream. The first message is the acknowledgement with
 * the accepted filter. Every message carries the request's id. When the server ends the stream, the last message is the
 * result.
 */
export function openListenStream(
  { id }: Pick<JSONRPCRequest, 'id'>,
  { honoured, wanted }: Filter,
  response: ServerResponse,
  { holder, principal, view, hub, streams }: StreamOpening,
): void {
  if (wanted.size > 0 && !hub.hasRoomFor({ holder })) throw noRoomForSubscriptions()
  const stream = new EventStream(response, {}, streams.pendingBytes)
  const listener = new StreamSubscriber(stream, id, holder)
  listener.acknowledge(honoured)
  if (Object.keys(honoured).length === 0) return listener.finish()
  for (const [asked, canonical] of wanted) hub.subscribe(listener, asked, canonical)
  const parts = partsOf(honoured, partsOpenTo(principal))
  if (parts.size > 0) hub.subscribeToLists(listener, parts)
  const unsubscribe = (): void => {
    hub.unsubscribeFromLists(listener)
    for (const [asked, canonical] of wanted) hub.unsubscribe(listener, asked, canonical)
  }
  const farewell = (): void => {
    listener.sendResult()
    // The client may read that message late, and others that need the room must not wait for it.
    unsubscribe()
  }
  streams.add(stream, farewell, { holder, principal, view })
  stream.onClose(unsubscribe)
}

/** The listening client, and what notifies it. */
export interface StreamOpening extends Listening {
  readonly hub: Subscriptions
  readonly streams: EventStreams
}

/** The listening client. */
export interface Listening {
  readonly holder: ShareHolder
  readonly principal: Principal | undefined
  readonly view: ViewName
}

function partsOf(honoured: Honoured, open: ReadonlySet<ListPart>): ReadonlySet<ListPart> {
  const isAsked = (part: ListPart): boolean =>
    (part === 'prompts' ? honoured.promptsListChanged : honoured.resourcesListChanged) === true
  return new Set([...open].filter(isAsked))
}

class StreamSubscriber implements Subscriber {
  readonly holder: ShareHolder
  readonly #stream: EventStream
  readonly #id: JSONRPCRequest['id']

  constructor(stream: EventStream, id: JSONRPCRequest['id'], holder: ShareHolder) {
    this.holder = holder
    this.#stream = stream
    this.#id = id
  }

  acknowledge(notifications: Honoured): void {
    this.#notify('notifications/subscriptions/acknowledged', { notifications })
  }

  updated(_uri: string, message: string): void {
    // The id is the only part that differs between clients. It is inserted before the two closing braces.
    const meta = `,"_meta":{"${SUBSCRIPTION_ID_META_KEY}":${JSON.stringify(this.#id)}}`
    this.#stream.send(`${message.slice(0, -2)}${meta}}}`)
  }

  listChanged(parts: readonly ListPart[]): void {
    if (parts.some((part) => part !== 'prompts')) this.#notify('notifications/resources/list_changed', {})
    if (parts.includes('prompts')) this.#notify('notifications/prompts/list_changed', {})
  }

  sendResult(): void {
    this.#stream.send(JSON.stringify(listenResult(this.#id)))
  }

  finish(): void {
    this.sendResult()
    this.#stream.end()
  }

  #notify(method: string, params: object): void {
    const stamped = { ...params, _meta: { [SUBSCRIPTION_ID_META_KEY]: this.#id } }
    this.#stream.send(JSON.stringify({ jsonrpc: '2.0', method, params: stamped }))
  }
}
