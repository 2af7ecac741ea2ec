import { isIP } from 'node:net'
import { z } from 'zod'
import { skillSpaceOf } from '../../../serve/mcp/resources/files/skill-template.ts'
import type { WebConfig } from '../../../serve/page/http/web-routes.ts'
import type { OAuthConfig, PageClient } from '../auth.ts'
import { duration, host, line, port, prose, webUrl } from '../schema/scalars.ts'
import { referenceOf, SECRET } from './access.ts'
import type { Absolute } from './access.ts'

// `serve`: the addresses and forms in which skills are served.

const HTTP = z.strictObject({
  host: host().default('127.0.0.1').describe('The address to listen on.'),
  port: port().default(8741).describe('The port to listen on; 0 picks a free one.'),
  public_url: webUrl()
    .optional()
    .describe('The address that clients use, if it differs, such as that of an https proxy.'),
  allowed_hosts: z
    .array(
      line(253).regex(/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i, 'must be a host name, without a scheme or a path'),
    )
    .optional()
    .describe('Further accepted Host headers; one without a port accepts any port.'),
  allowed_origins: z
    .array(line(300).regex(/^https?:\/\/[^/?#@]+$/i, 'must be http:// or https:// and a host, with nothing after it'))
    .optional()
    .describe('Sites whose pages may send requests.'),
  trusted_proxies: z
    .array(line(100).refine(isNetwork, 'must be an IP address, or a network such as 10.0.0.0/8'))
    .optional()
    .describe('Addresses or networks whose X-Forwarded-For is trusted.'),
})

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const widest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (widest === -1 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= widest)
}

function issuerScopes() {
  return z.array(
    line(200).regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'must be a scope: without spaces, quotes and backslashes'),
  )
}

const PAGE_CLIENT = z.strictObject({
  client_id: line(300)
    .regex(/^[\x20-\x7E]+$/, 'must be the id of a client: ASCII characters')
    .describe('The id of the client that the issuer has for the page.'),
  client_secret: SECRET.optional().describe(
    'The secret of the client; without it, the client is public. Both use PKCE.',
  ),
  scopes: issuerScopes()
    .optional()
    .describe('The scopes to request besides openid. Default: `scopes` of oauth, else page.'),
  session: duration({ least: '1m', most: '12h' })
    .optional()
    .describe('The duration of a sign-in, at most 12h. Default: until its ID token expires.'),
})

const OAUTH = z.strictObject({
  issuer: webUrl().describe('Its issuer identifier; https unless it is on this machine.'),
  audience: line()
    .optional()
    .describe('The audience that a token must have. Default: the address of this server with /mcp.'),
  scopes: issuerScopes()
    .optional()
    .describe(
      'The scopes that a token needs, all of them, for access to everything. Default: each scope of skillsyncd opens what it names.',
    ),
  token_type: z
    .enum(['jwt', 'at+jwt'])
    .optional()
    .describe(
      'at+jwt: only tokens declared as access tokens (RFC 9068). jwt: also those without a type, unless they are recognized as ID, refresh or logout tokens. Default: jwt.',
    ),
  keys_max_age: duration()
    .optional()
    .describe('The time that its keys are used while it is unreachable; then its tokens get 503. Default: 24h.'),
  page: PAGE_CLIENT.optional().describe(
    'People sign in to the page with the issuer (OpenID Connect). Needs `http.public_url`, which with /login/callback is the redirect URI.',
  ),
})

function surface<Shape extends z.ZodRawShape>(description: string, more: Shape) {
  const enabled = z.boolean().optional().describe('false: not offered. Default: true.')
  return z
    .strictObject({ enabled, ...more })
    .optional()
    .describe(description)
}

const SPACE = line().superRefine((template, context) => {
  const space = skillSpaceOf(template)
  if ('why' in space) context.addIssue({ code: 'custom', message: space.why })
})

const SURFACES = {
  resources: z
    .strictObject({
      list: z
        .enum(['skills', 'files'])
        .optional()
        .describe('The content of resources/list: each SKILL.md, or every file. Default: skills.'),
      synthetic: z
        .enum(['hide', 'list'])
        .optional()
        .describe('list: also the generated archives and manifests. Default: hide.'),
    })
    .optional()
    .describe('The list of resources.'),
  index: surface('skill://index.json, for clients of older revisions.', {
    templates: z
      .enum(['omit', 'include'])
      .optional()
      .describe('include: templates are entries of it too, which some readers refuse. Default: omit.'),
  }),
  templates: z
    .array(z.strictObject({ uri: SPACE.describe('A URI template, such as skill://docs/{product}/SKILL.md.') }))
    .refine(
      (spaces) => new Set(spaces.map(({ uri }) => uri)).size === spaces.length,
      'must not contain a template twice',
    )
    .optional()
    .describe('Resource templates besides one for each source, for clients in which people fill them in.'),
  contract: surface('The resource:// URI contract.', {}),
  tools: surface('The tools list_skills, get_skill and search_skills.', {
    paths: z
      .enum(['auto', 'omit'])
      .optional()
      .describe('auto: clients over stdio get the path of a skill. Default: auto.'),
    wait: duration()
      .optional()
      .describe('The time that a call waits at most for the poll of a stale source. Default: 2s.'),
  }),
  prompts: surface('The prompts init-skills and skills-catalog, and skills as prompts.', {
    skills: z
      .enum(['none', 'user-invocable'])
      .optional()
      .describe(
        'user-invocable: each listed skill is a prompt too, unless it says `user-invocable: false`. Default: none.',
      ),
  }),
  search: surface('The tool search_skills, beside the two of `tools`.', {}),
  page: surface('The catalog for people, at /.', {
    title: line(200).optional().describe('Its title. Default: Agent Skills.'),
  }),
  well_known: surface('/.well-known/agent-skills/, for installers.', {}),
}

/** The keys of `serve` after those of features. */
export const METRICS_KEYS = {
  metrics: z
    .strictObject({
      enabled: z
        .boolean()
        .optional()
        .describe('true: the start fails if there is no address for it. Default: served where there is one.'),
    })
    .optional()
    .describe('/metrics, for Prometheus: at the address of MCP on loopback, else at `operations`.'),
}

/** The keys of `serve` before those of features. */
export const SERVE_KEYS = {
  http: HTTP.prefault({}).describe('The address that MCP clients connect to.'),
  operations: z
    .strictObject({
      host: host().default('127.0.0.1').describe('The address to listen on, on loopback or not.'),
      port: port().describe('The port to listen on; 0 picks a free one.'),
    })
    .optional()
    .describe('A second address: /hooks and /metrics move there from the first, and it has /healthz and /readyz too.'),
  public: z
    .array(z.enum(['page', 'well-known', 'marketplace', 'metrics']))
    .optional()
    .describe('The parts that need no token although all others do.'),
  oauth: OAUTH.optional().describe('Accept the access tokens of an authorization server.'),
  instructions: prose(65_536).optional().describe('The instructions that clients get when they connect.'),
  ttl: duration({ most: '365d' })
    .prefault('1m')
    .describe('The time that clients may reuse an answer. Subscribers are notified of changes at once.'),
  ...SURFACES,
}

type ServeEntry = z.output<z.ZodObject<typeof SERVE_KEYS & typeof METRICS_KEYS>>

/** The addresses and forms in which skills are served. */
export type ServeConfig = ReturnType<typeof serveOf>

/** The server, but for what features serve. */
export function serveOf(
  { http, operations, ttl: ttlMs, metrics, oauth, instructions, ...entry }: ServeEntry,
  absolute: Absolute,
) {
  const { resources, index, templates = [], contract, tools, search, prompts } = entry
  return {
    http: {
      host: http.host,
      port: http.port,
      publicUrl: http.public_url?.replace(/\/$/, ''),
      allowedHosts: http.allowed_hosts ?? [],
      allowedOrigins: http.allowed_origins ?? [],
      trustedProxies: http.trusted_proxies ?? [],
    },
    operations,
    ttlMs,
    web: webOf(entry),
    oauth: oauth && oauthOf(oauth, absolute),
    metrics: metrics?.enabled,
    instructions,
    index: index?.enabled === false ? ('off' as const) : (index?.templates ?? ('omit' as const)),
    templates: templates.map(({ uri }) => uri),
    resources: { list: resources?.list ?? ('skills' as const), synthetic: resources?.synthetic ?? ('hide' as const) },
    contract: contract?.enabled !== false,
    tools:
      tools?.enabled === false
        ? undefined
        : { paths: tools?.paths ?? ('auto' as const), waitMs: tools?.wait ?? TOOL_WAIT_MS },
    search: search?.enabled !== false,
    prompts: prompts?.enabled === false ? ('off' as const) : (prompts?.skills ?? ('none' as const)),
  }
}

const TOOL_WAIT_MS = 2_000

/** The HTTP pages and files that are served in addition to MCP. */
function webOf({
  public: open = [],
  well_known: wellKnown,
  page,
}: Pick<ServeEntry, 'public' | 'well_known' | 'page'>): WebConfig {
  return {
    wellKnown: wellKnown?.enabled !== false,
    page: page?.enabled === false ? undefined : { title: page?.title ?? 'Agent Skills' },
    open: new Set(open),
  }
}

/** The issuer whose tokens are accepted in addition to ours. */
function oauthOf(entry: NonNullable<ServeEntry['oauth']>, absolute: Absolute): OAuthConfig {
  const { issuer, audience, scopes = [], token_type: tokenType = 'jwt', keys_max_age: keysMaxAgeMs = DAY_MS } = entry
  return {
    issuer,
    audience,
    scopes,
    tokenType,
    keysMaxAgeMs,
    page: entry.page && pageClientOf(entry.page, scopes, absolute),
  }
}

function pageClientOf(
  { client_id: clientId, client_secret: secret, scopes, session: sessionMs }: z.output<typeof PAGE_CLIENT>,
  needed: readonly string[],
  absolute: Absolute,
): PageClient {
  const usual = needed.length > 0 ? needed : ['page']
  return { clientId, clientSecret: secret && referenceOf(secret, absolute), scopes: scopes ?? usual, sessionMs }
}

const DAY_MS = 86_400_000
