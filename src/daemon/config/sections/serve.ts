import { isIP } from 'node:net'
import { z } from 'zod'
import { ARCHIVE_FORMATS } from '../../../serve/mcp/resources/derived/archive-cache.ts'
import { skillSpaceOf } from '../../../serve/mcp/resources/files/skill-template.ts'
import type { WebConfig } from '../../../serve/page/http/web-routes.ts'
import type { OAuthConfig, PageClient } from '../auth.ts'
import { FORM_WORDS, formFault, formsIn, listFault } from '../forms.ts'
import { duration, host, line, mapping, port, prose, webUrl } from '../schema/scalars.ts'
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

const PAGE_CLIENT = mapping(() => ({
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
}))

const OAUTH = mapping(() => ({
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
  page: PAGE_CLIENT.optional().describe(
    'People sign in to the page with the issuer (OpenID Connect). Needs `http.public_url`, which with /login/callback is the redirect URI.',
  ),
}))

const SPACE = line().superRefine((template, context) => {
  const space = skillSpaceOf(template)
  if ('why' in space) context.addIssue({ code: 'custom', message: space.why })
})

const FORM_LIST = z
  .array(z.enum(FORM_WORDS, { error: ({ input }) => formFault(input) }))
  .superRefine((words, context) => {
    for (const [index, word] of words.entries()) {
      const message = listFault(word, words)
      if (message !== undefined) context.addIssue({ code: 'custom', path: [index], message })
    }
  })

/** The keys of `serve`, but for those of features. */
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
  forms: FORM_LIST.prefault(['default']).describe(
    'The whole list of what is served beside the skills extension. default: all up to metrics; -FORM takes one of them away, and what needs it, as in [default, archives, -page]. tools: list_skills, get_skill and read_skill_file. search: the tool search_skills, also on the page. paths: the tools give clients over stdio the path of a skill. prompts: init-skills and skills-catalog. index: skill://index.json, for clients of older revisions. contract: the resource:// URI contract. page: the catalog for people, at /. well-known: /.well-known/agent-skills/, for installers. metrics: /metrics, for Prometheus, at the address of MCP on loopback, else at `operations`; if it is written out, the start fails without an address for it. skill-prompts: each listed skill is a prompt too, unless it says `user-invocable: false`. index-templates: `templates` are entries of the index too, which some readers refuse. archives: each skill also as a tar.gz and a zip, for clients of older revisions. files: resources/list has every file, not each SKILL.md alone. synthetic: it has the generated archives and manifests too.',
  ),
  templates: z
    .array(SPACE)
    .refine((spaces) => new Set(spaces).size === spaces.length, 'must not contain a template twice')
    .optional()
    .describe(
      'Resource templates besides one for each source, such as skill://docs/{product}/SKILL.md, for clients in which people fill them in.',
    ),
  tool_wait: duration()
    .optional()
    .describe('The time that a call of a tool waits at most for the poll of a stale source. Default: 2s.'),
  page: z
    .strictObject({ title: line(200).optional().describe('Its title. Default: Agent Skills.') })
    .optional()
    .describe('The catalog for people, at /.'),
}

type ServeEntry = z.output<z.ZodObject<typeof SERVE_KEYS>>

/** The addresses and forms in which skills are served. */
export type ServeConfig = ReturnType<typeof serveOf>

/** The server, but for what features serve. */
export function serveOf(
  { http, operations, ttl: ttlMs, oauth, instructions, forms: words, templates = [], ...entry }: ServeEntry,
  absolute: Absolute,
) {
  const forms = formsIn(words)
  const web: WebConfig = {
    wellKnown: forms.has('well-known'),
    page: forms.has('page') ? { title: entry.page?.title ?? 'Agent Skills' } : undefined,
    open: new Set(entry.public),
  }
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
    web,
    oauth: oauth && oauthOf(oauth, absolute),
    forms,
    archives: forms.has('archives') ? ARCHIVE_FORMATS : [],
    needsMetrics: words.includes('metrics'),
    instructions,
    templates,
    toolWaitMs: forms.has('tools') ? (entry.tool_wait ?? TOOL_WAIT_MS) : 0,
  }
}

const TOOL_WAIT_MS = 2_000

/** The issuer whose tokens are accepted in addition to ours. */
function oauthOf(entry: NonNullable<ServeEntry['oauth']>, absolute: Absolute): OAuthConfig {
  const { issuer, audience, scopes = [], token_type: tokenType = 'jwt' } = entry
  return {
    issuer,
    audience,
    scopes,
    tokenType,
    keysMaxAgeMs: DAY_MS,
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
