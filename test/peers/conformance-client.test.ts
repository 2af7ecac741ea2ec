import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { CONFORMANCE, runForeign } from './foreign.ts'
import { checksIn, checksWith, scenariosListed } from './official-suite.ts'

/** Has the daemon look at the server of a scenario, and read through it what that offers. */
const HOST = fileURLToPath(new URL('../support/clients/conformance-host.mjs', import.meta.url))

const CALLS_NO_TOOL = 'a host of skills, which calls no tool of another server'
const ANSWERS_NOTHING = 'it declares no capability by which a server could ask it for anything'
const TAKES_A_TOKEN =
  'it runs without a person: it sends the token that the operator configured, and asks no authorization server for one'

/** Every client scenario of the suite: it passes, with no failure and no warning, or the reason why it does not apply stands here. */
const SCENARIOS: Readonly<Record<string, 'applies' | { readonly not: string }>> = {
  initialize: 'applies',
  tools_call: { not: CALLS_NO_TOOL },
  'elicitation-sep1034-client-defaults': { not: ANSWERS_NOTHING },
  'sse-retry': { not: CALLS_NO_TOOL },
  'request-metadata': 'applies',
  'auth/metadata-default': { not: TAKES_A_TOKEN },
  'auth/metadata-var1': { not: TAKES_A_TOKEN },
  'auth/metadata-var2': { not: TAKES_A_TOKEN },
  'auth/metadata-var3': { not: TAKES_A_TOKEN },
  'auth/basic-cimd': { not: TAKES_A_TOKEN },
  'auth/scope-from-www-authenticate': { not: TAKES_A_TOKEN },
  'auth/scope-from-scopes-supported': { not: TAKES_A_TOKEN },
  'auth/scope-omitted-when-undefined': { not: TAKES_A_TOKEN },
  'auth/scope-step-up': { not: TAKES_A_TOKEN },
  'auth/scope-retry-limit': { not: TAKES_A_TOKEN },
  'auth/token-endpoint-auth-basic': { not: TAKES_A_TOKEN },
  'auth/token-endpoint-auth-post': { not: TAKES_A_TOKEN },
  'auth/token-endpoint-auth-none': { not: TAKES_A_TOKEN },
  'auth/pre-registration': { not: TAKES_A_TOKEN },
  'auth/2025-03-26-oauth-metadata-backcompat': { not: TAKES_A_TOKEN },
  'auth/2025-03-26-oauth-endpoint-fallback': { not: TAKES_A_TOKEN },
  'auth/resource-mismatch': { not: TAKES_A_TOKEN },
  'auth/offline-access-scope': { not: TAKES_A_TOKEN },
  'auth/offline-access-not-supported': { not: TAKES_A_TOKEN },
  'auth/authorization-server-migration': { not: TAKES_A_TOKEN },
  'auth/iss-supported': { not: TAKES_A_TOKEN },
  'auth/iss-not-advertised': { not: TAKES_A_TOKEN },
  'auth/iss-supported-missing': { not: TAKES_A_TOKEN },
  'auth/iss-wrong-issuer': { not: TAKES_A_TOKEN },
  'auth/iss-unexpected': { not: TAKES_A_TOKEN },
  'auth/iss-normalized': { not: TAKES_A_TOKEN },
  'auth/metadata-issuer-mismatch': { not: TAKES_A_TOKEN },
  'auth/client-credentials-jwt': { not: TAKES_A_TOKEN },
  'auth/client-credentials-basic': { not: TAKES_A_TOKEN },
  'auth/enterprise-managed-authorization': { not: TAKES_A_TOKEN },
  'auth/dpop': { not: TAKES_A_TOKEN },
  'auth/dpop-nonce': { not: TAKES_A_TOKEN },
  'auth/wif-jwt-bearer': { not: TAKES_A_TOKEN },
  'sep-2322-client-request-state': { not: CALLS_NO_TOOL },
  'http-standard-headers': 'applies',
  'http-custom-headers': { not: CALLS_NO_TOOL },
  'http-invalid-tool-headers': { not: CALLS_NO_TOOL },
  'json-schema-ref-no-deref': { not: CALLS_NO_TOOL },
  'json-schema-2020-12-preservation': { not: CALLS_NO_TOOL },
  'sep-2640-client-no-prefetch': 'applies',
  'sep-2640-client-verify-digest': 'applies',
  'sep-2640-client-verify-size': 'applies',
  'sep-2640-client-verify-frontmatter': 'applies',
}

test('the suite has the client scenarios of the table, and no other', async () => {
  const listed = await scenariosListed('client')

  expect([...listed.keys()].toSorted()).toEqual(Object.keys(SCENARIOS).toSorted())
})

const applying = Object.keys(SCENARIOS).filter((scenario) => SCENARIOS[scenario] === 'applies')

test.each(applying)('the daemon as a host passes %s', async (scenario) => {
  await using results = await temporaryFolder()

  const args = ['--scenario', scenario, '--output-dir', results.path, '--timeout', '150000']
  const ended = await runForeign(CONFORMANCE, ['client', '--command', `${process.execPath} ${HOST}`, ...args])

  const checks = [...(await checksIn(results.path)).values()].flat()
  expect(checksWith(checks, 'FAILURE', 'WARNING')).toEqual([])
  expect(checksWith(checks, 'SUCCESS')).not.toEqual([])
  expect(ended.status, ended.stderr).toBe(0)
})
