import { readSecret } from '../config/auth.ts'
import type { ProgramValue } from '../config/auth.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'

/**
 * The environment of a program: PATH and HOME of our own, since it needs none of our secrets, and the operator's
 * variables. Secrets are read at each call.
 */
export async function programVariables(
  values: Readonly<Record<string, ProgramValue>>,
  environment: Environment,
  redactor: Redactor,
): Promise<Record<string, string>> {
  const variables: Record<string, string> = {
    PATH: environment.variable('PATH') ?? USUAL_PATH,
    ...environment.homeVariable,
  }
  for (const [name, value] of Object.entries(values)) {
    variables[name] = value.kind === 'value' ? value.value : await readSecret(value, environment, redactor, 'lines')
  }
  return variables
}

const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin'
