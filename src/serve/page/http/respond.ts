import type { ServerResponse } from 'node:http'
import { sendPieces } from '../../http/server/response.ts'
import { PAGE_POLICY } from '../layout.ts'

/** Sends a page that runs and loads only our own script and style. */
export function sendPage(
  response: ServerResponse,
  status: number,
  text: string,
  more: Readonly<Record<string, string>> = {},
): void {
  sendPieces(response, { status, headers: { ...PAGE_HEAD, ...more }, pieces: [Buffer.from(text)] })
}

const PAGE_HEAD = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': PAGE_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // With `no-referrer`, a browser would send the form without its origin.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
}
