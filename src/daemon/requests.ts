import { linkRequest, unlinkRequest } from '../features/agent-folders/link-requests.ts'
import { checkLogRequest, checkpointRequest, logProofRequest } from '../features/channel/log-requests.ts'
import { recallReachRequest, recallRequest, revokeRecallRequest } from '../features/channel/recall/recall-requests.ts'
import { pullRequest } from '../features/hub-of-several/pull-for-member.ts'
import { publishRequest } from '../features/marketplace/publish-request.ts'
import {
  addUriRequest,
  completeRequest,
  measureRequest,
  removeUriRequest,
  resolveRequest,
  templatesRequest,
} from '../features/mcp-sources/addition-requests.ts'
import { approveSkillRequest, bringRequest, recheckRequest } from '../features/mcp-sources/file-requests.ts'
import { holdRingRequest, promoteRequest, ringsRequest } from '../features/rings/ring-requests.ts'
import { scanRequest } from '../features/scan/scan-request.ts'
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

/** The parts that requests are answered from. */
export interface AnsweringParts extends DaemonParts {
  /** Follows the hub now, if there is one. Returns the sources after that. */
  readonly followHub: (signal: AbortSignal) => Promise<HubSourceIds>
}

/** The requests that the process answers which writes a state folder. */
const ALL: readonly ControlRequest<AnsweringParts>[] = [
  helloRequest,
  statusRequest,
  syncRequest,
  lookRequest,
  followRequest,
  pullRequest,
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
  linkRequest,
  unlinkRequest,
  bringRequest,
  recheckRequest,
  approveSkillRequest,
  templatesRequest,
  completeRequest,
  resolveRequest,
  addUriRequest,
  measureRequest,
  removeUriRequest,
  scanRequest,
  publishRequest,
  logProofRequest,
  checkLogRequest,
  checkpointRequest,
  recallRequest,
  revokeRecallRequest,
  recallReachRequest,
  ringsRequest,
  promoteRequest,
  holdRingRequest,
]

/** The same requests, by their names. */
export const REQUESTS: ReadonlyMap<string, ControlRequest<AnsweringParts>> = new Map(
  ALL.map((request) => [request.name, request]),
)
