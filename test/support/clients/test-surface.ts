import type { Method, Methods, Surface } from '../../../src/serve/mcp/core/methods.ts'
import { RpcError, invalidParams } from '../../../src/serve/mcp/rpc/rpc-error.ts'

/**
 * What the conformance suite wants to find in a server that it looks at: `test://…`, `test_*`. It exists in tests only, and
 * goes through the same cores and edges as what is served in earnest.
 */
export const TEST_SURFACE: Surface = {
  capabilities: { tools: {}, prompts: {}, completions: {} },
  methods: (known) => ({
    ...known,
    'resources/list': lastPageOf(known, 'resources/list', 'resources', RESOURCES.map(described)),
    'resources/templates/list': lastPageOf(known, 'resources/templates/list', 'resourceTemplates', [TEMPLATE]),
    'resources/read': before(known, 'resources/read', ({ uri }) => {
      const found = RESOURCES.find((resource) => resource.uri === uri)
      if (found !== undefined) return { contents: [found] }
      const id = typeof uri === 'string' ? /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1] : undefined
      if (id === undefined) return undefined
      const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
      return { contents: [{ uri, mimeType: 'application/json', text }] }
    }),
    'resources/subscribe': before(known, 'resources/subscribe', ({ uri }, { subscriptions }) => {
      if (uri !== WATCHED) return undefined
      subscriptions?.subscribe(WATCHED, WATCHED)
      return {}
    }),
    'tools/list': lastPageOf(
      known,
      'tools/list',
      'tools',
      TOOLS.map(({ shown }) => shown),
    ),
    'tools/call': before(known, 'tools/call', (params, ...asking) =>
      isAmong(TOOLS, params) ? ask(TOOLS)(params, ...asking) : undefined,
    ),
    'prompts/list': () => ({ prompts: PROMPTS.map(({ shown }) => shown) }),
    'prompts/get': ask(PROMPTS),
    'completion/complete': before(known, 'completion/complete', ({ ref }) =>
      isOurs(ref) ? { completion: { values: [], total: 0, hasMore: false } } : undefined,
    ),
  }),
}

const WATCHED = 'test://watched-resource'

/** A picture of one red point. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

type Resource = { readonly uri: string; readonly mimeType: string } & (
  | { readonly text: string }
  | { readonly blob: string }
)

const RESOURCES: readonly Resource[] = [
  { uri: 'test://static-text', mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  { uri: 'test://static-binary', mimeType: 'image/png', blob: PNG },
  { uri: WATCHED, mimeType: 'text/plain', text: 'Watched' },
]

function described({ uri, mimeType }: Resource): object {
  return { uri, name: uri.slice('test://'.length), mimeType }
}

const TEMPLATE = { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }

/** A tool or a prompt: what lists show of it, and what it answers. */
interface Offer {
  readonly shown: { readonly name: string; readonly description: string; readonly [field: string]: unknown }
  readonly answer: (given: Readonly<Record<string, unknown>>) => object
}

const text = (words: string): object => ({ type: 'text', text: words })
const image = { type: 'image', data: PNG, mimeType: 'image/png' }
const embedded = (uri: string, mimeType: string, words: string): object => ({
  type: 'resource',
  resource: { uri, mimeType, text: words },
})

function tool(name: string, answer: () => object, inputSchema: object = { type: 'object' }): Offer {
  return { shown: { name, description: `The tool ${name}`, inputSchema }, answer }
}

const says =
  (...content: readonly object[]) =>
  (): object => ({ content })

const TOOLS: readonly Offer[] = [
  tool('test_simple_text', says(text('This is a simple text response for testing.'))),
  tool('test_image_content', says(image)),
  tool('test_audio_content', says({ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' })),
  tool(
    'test_embedded_resource',
    says(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  ),
  tool(
    'test_multiple_content_types',
    says(
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  ),
  tool('test_error_handling', () => ({
    isError: true,
    content: [text('This tool intentionally returns an error for testing')],
  })),
  tool('test_missing_capability', () => {
    throw new RpcError(-32021, 'The client does not sample', { requiredCapabilities: { sampling: {} } })
  }),
  tool('test_streaming_elicitation', says(text('Nothing was asked.'))),
  tool('test_logging_tool', says(text('Nothing was logged.'))),
  // Made from text: a value with a field called `then` is taken for a promise.
  tool(
    'json_schema_2020_12_tool',
    says(text('Nothing was checked.')),
    JSON.parse(`{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": { "address": { "$anchor": "addressDef", "type": "object", "properties": { "city": { "type": "string" } } } },
    "properties": { "address": { "$ref": "#/$defs/address" }, "phone": { "type": "string" }, "email": { "type": "string" } },
    "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
    "if": { "required": ["address"] },
    "then": { "required": ["phone"] },
    "else": { "required": ["email"] },
    "additionalProperties": false
  }`),
  ),
]

function prompt(
  name: string,
  takes: readonly string[],
  answer: (given: Readonly<Record<string, unknown>>) => readonly object[],
): Offer {
  const taken = takes.map((argument) => ({ name: argument, description: `The argument ${argument}`, required: true }))
  return {
    shown: { name, description: `The prompt ${name}`, ...(taken.length > 0 && { arguments: taken }) },
    answer: (given) => ({ messages: answer(given).map((content) => ({ role: 'user', content })) }),
  }
}

const PROMPTS: readonly Offer[] = [
  prompt('test_simple_prompt', [], () => [text('This is a simple prompt for testing.')]),
  prompt('test_prompt_with_arguments', ['arg1', 'arg2'], ({ arg1, arg2 }) => [
    text(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`),
  ]),
  prompt('test_prompt_with_embedded_resource', ['resourceUri'], ({ resourceUri }) => [
    embedded(String(resourceUri), 'text/plain', 'Embedded resource content for testing.'),
    text('Please process the embedded resource above.'),
  ]),
  prompt('test_prompt_with_image', [], () => [image, text('Please analyze the image above.')]),
]

function isAmong(offers: readonly Offer[], { name }: Parameters<Method>[0]): boolean {
  return offers.some(({ shown }) => shown.name === name)
}

/** Asks that of the offers which is named. */
function ask(offers: readonly Offer[]): Method {
  return ({ name, arguments: given }) => {
    const offer = offers.find(({ shown }) => shown.name === name)
    if (offer === undefined) throw invalidParams('Nothing of that name is offered')
    return offer.answer(typeof given === 'object' && given !== null ? { ...given } : {})
  }
}

/** Whether a prompt or a template of this surface is meant. */
function isOurs(ref: unknown): boolean {
  if (typeof ref !== 'object' || ref === null) return false
  if ('uri' in ref) return ref.uri === TEMPLATE.uriTemplate
  return 'name' in ref && PROMPTS.some(({ shown }) => shown.name === ref.name)
}

/** A method that answers some of what it is asked, and leaves the rest to the one that was there. */
function before(known: Methods, name: string, answer: (...asked: Parameters<Method>) => object | undefined): Method {
  return (...asked) => answer(...asked) ?? known[name]!(...asked)
}

/** A listing that goes on after its last page. */
function lastPageOf(known: Methods, name: string, field: string, more: readonly object[]): Method {
  return async (...asked) => {
    const page: Record<string, unknown> = { ...(await known[name]!(...asked)) }
    const items = page[field]
    return 'nextCursor' in page || !Array.isArray(items) ? page : { ...page, [field]: [...items, ...more] }
  }
}
