import { isIP } from 'node:net'
import { z } from 'zod'
import { isServedPluginName, isReservedName } from '../../serve/marketplace/plugin-name.ts'
import { skillSpaceOf } from '../../serve/mcp/resources/files/skill-template.ts'
import { duration, host, line, path, port, prose, webUrl } from './scalars.ts'
import { SECRET } from './schema-access.ts'

// `serve`: the addresses and forms in which skills are served.

function pluginName(): z.ZodString {
  return z
    .string()
    .max(64)
    .refine(isServedPluginName, 'must be 1 to 64 of a-z, 0-9 and single inner hyphens, and no device of Windows')
}

const TLS = z.strictObject({
  certificate: path().describe('The certificate and those between it and the root (PEM).'),
  key: SECRET.describe('Where the private key (PEM) is read from.'),
})

const HTTP = z.strictObject({
  host: host().default('127.0.0.1').describe('The address to listen on.'),
  port: port().default(8741).describe('The port to listen on; 0 picks a free one.'),
  public_url: webUrl()
    .optional()
    .describe('The address by which clients reach us, where it is another than host and port.'),
  allowed_hosts: z
    .array(
      line(253).regex(/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i, 'must be a host name, without a scheme or a path'),
    )
    .optional()
    .describe('Values of the Host header to answer, besides host and port. Without a port: with any.'),
  allowed_origins: z
    .array(line(300).regex(/^https?:\/\/[^/?#@]+$/i, 'must be http:// or https:// and a host, with nothing behind it'))
    .optional()
    .describe('Values of the Origin header to answer.'),
  trusted_proxies: z
    .array(line(100).refine(isNetwork, 'must be an IP address, or a network such as 10.0.0.0/8'))
    .optional()
    .describe('Addresses or networks whose X-Forwarded-For is believed.'),
  tls: TLS.optional().describe('Serve https by ourselves. Read again when the files change.'),
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
    .describe('The client that the issuer knows the page by.'),
  client_secret: SECRET.optional().describe(
    'Where the secret of the client is read from. Without it the client is a public one; PKCE is used with both.',
  ),
  scopes: issuerScopes()
    .optional()
    .describe('What is asked for besides openid. Default: the scopes of `oauth`, else page.'),
  session: duration({ least: '1m', most: '12h' })
    .optional()
    .describe('How long a sign-in lasts. Default: as long as its ID token.'),
})

const OAUTH = z.strictObject({
  issuer: webUrl().describe(
    'The authorization server whose tokens are accepted, as it calls itself; https off this machine.',
  ),
  audience: line().optional().describe('What a token must be meant for. Default: our own address with /mcp.'),
  scopes: issuerScopes()
    .optional()
    .describe(
      'What a token must allow, all of them, to open everything. Default: each scope of ours opens what it names.',
    ),
  token_type: z
    .enum(['jwt', 'at+jwt'])
    .optional()
    .describe(
      'at+jwt: only access tokens that say so in `typ` (RFC 9068) are accepted. jwt (the default): also those that name no type of their own, unless they are seen to be ID, refresh or logout tokens.',
    ),
  keys_max_age: duration()
    .optional()
    .describe(
      'For how long its keys are used while they cannot be fetched again; then every token of it is answered with 503. Default: 24h.',
    ),
  page: PAGE_CLIENT.optional().describe(
    'People sign in to the page with the issuer (OpenID Connect); needs `http.public_url`.',
  ),
})

function surface<Shape extends z.ZodRawShape>(description: string, more: Shape) {
  const enabled = z.boolean().optional().describe('Set to false, it is not offered. Default: true.')
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
        .describe('What resources/list holds: each SKILL.md, or every file. Default: skills.'),
      synthetic: z
        .enum(['hide', 'list'])
        .optional()
        .describe('Whether it holds archives and manifests too, which are made by us. Default: hide.'),
    })
    .optional()
    .describe('The list of resources.'),
  index: surface('skill://index.json, for clients of older revisions.', {
    templates: z
      .enum(['omit', 'include'])
      .optional()
      .describe('Whether templates stand in it as entries. Default: omit.'),
  }),
  templates: z
    .array(z.strictObject({ uri: SPACE.describe('A URI template, such as skill://docs/{product}/SKILL.md.') }))
    .refine((spaces) => new Set(spaces.map(({ uri }) => uri)).size === spaces.length, 'must not hold a template twice')
    .optional()
    .describe('Spaces of skills to offer as resource templates, besides one per source.'),
  contract: surface('The resource:// URI contract.', {}),
  tools: surface('The tools list_skills and get_skill, and with them search_skills.', {
    paths: z
      .enum(['auto', 'omit'])
      .optional()
      .describe('Whether callers on the same disk are told paths. Default: auto.'),
    wait: duration().optional().describe('How long a call may wait for a stale source. Default: 2s.'),
  }),
  prompts: surface('The prompts init-skills and skills-catalog, and skills as prompts.', {
    skills: z
      .enum(['none', 'user-invocable'])
      .optional()
      .describe('Whether the listed skills are prompts too, but those with user-invocable: false. Default: none.'),
  }),
  search: surface('The tool search_skills, beside the two of `tools`.', {}),
  page: surface('The catalog for people, at /.', {
    title: line(200).optional().describe('Its title. Default: Agent Skills.'),
  }),
  well_known: surface('/.well-known/agent-skills/, for installers.', {}),
  marketplace: z
    .strictObject({
      name: pluginName()
        .refine((name) => !isReservedName(name), 'is a name that Claude Code refuses; take one of your organization')
        .describe('Its name, for good: clients refuse another one later.'),
      owner: line(200).optional().describe('The name of your organization. Default: that of the marketplace.'),
      description: line(1_024).optional().describe('What clients say of it. Default: Agent Skills.'),
      plugin: pluginName().default('skills').describe('The plugin of the skills that are in no pack.'),
      retired: z
        .array(pluginName())
        .optional()
        .describe('Packs of before: clients that installed one drop its skills. Without this, some keep them.'),
      renames: z
        .record(pluginName(), pluginName())
        .optional()
        .describe('The names of packs of before, each with the name that it has now.'),
    })
    .optional()
    .describe(
      '/marketplace.git, a git remote with a plugin for each pack, for Claude Code, Codex, Copilot, Cursor and VS Code.',
    ),
  metrics: z
    .strictObject({
      enabled: z
        .boolean()
        .optional()
        .describe(
          'false: there is none. true: the start is refused where it has no place. Default: wherever it has one.',
        ),
    })
    .optional()
    .describe('/metrics, in the form of Prometheus: beside MCP on loopback, else at `operations`.'),
}

export const SERVE = z.strictObject({
  http: HTTP.prefault({}).describe('The address that MCP clients connect to.'),
  operations: z
    .strictObject({
      host: host().default('127.0.0.1').describe('The address to listen on; it need not be on loopback.'),
      port: port().describe('The port to listen on; 0 picks a free one.'),
    })
    .optional()
    .describe('A second address, which has /hooks and /metrics in place of the first.'),
  public: z
    .array(z.enum(['page', 'well-known', 'marketplace', 'metrics']))
    .optional()
    .describe('What is answered without a token, on purpose.'),
  oauth: OAUTH.optional().describe('Accept the access tokens of an authorization server.'),
  instructions: prose(65_536).optional().describe('What clients are told about this server when they connect.'),
  ttl: duration({ most: '365d' })
    .prefault('1m')
    .describe('How long clients may take an answer for fresh without asking.'),
  ...SURFACES,
})
