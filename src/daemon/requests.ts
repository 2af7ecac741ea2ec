import type { HubSourceIds } from '../sync/store/hub-sources.ts'
import { decideRequest, waitingRequest } from './commands/change/decide-requests.ts'
import { disableRequest } from './commands/change/disable-request.ts'
import { rollbackRequest } from './commands/change/rollback-request.ts'
import { addTokenRequest, renewTokenRequest, revokeTokenRequest } from './commands/run/token-requests.ts'
import { followRequest } from './control/follow-request.ts'
import { helloRequest } from './control/process-requests.ts'
import { lookRequest } from './control/request-refresh.ts'
import type { ControlRequest } from './control/request.ts'
import { statusRequest } from './control/status-request.ts'
import { syncRequest } from './control/sync-request.ts'
import { candidateRequest, compareRequest, revisionRequest, secondOpinionRequest } from './control/upstream-requests.ts'
import type { DaemonParts } from './daemon.ts'
import { FEATURES } from './features.ts'

/** The parts that requests are answered from. */
export interface AnsweringParts extends DaemonParts {
  /** Follows the hub now, if there is one. Returns the sources after that. */
  readonly followHub: (signal: AbortSignal) => Promise<HubSourceIds>
}

/** Those of the core. */
const CORE_REQUESTS: readonly ControlRequest<AnsweringParts>[] = [
  helloRequest,
  statusRequest,
  syncRequest,
  lookRequest,
  followRequest,
  revisionRequest,
  candidateRequest,
  compareRequest,
  secondOpinionRequest,
  waitingRequest,
  decideRequest,
  disableRequest,
  rollbackRequest,
  addTokenRequest,
  renewTokenRequest,
  revokeTokenRequest,
]

/** Loads the requests that the process answers which writes a state folder, by their names. */
export async function loadRequests(): Promise<Requests> {
  const ofFeatures = await Promise.all(FEATURES.map(async ({ requests }) => (await requests?.()) ?? []))
  return new Map([...CORE_REQUESTS, ...ofFeatures.flat()].map((request) => [request.name, request]))
}

export type Requests = ReadonlyMap<string, ControlRequest<AnsweringParts>>
