import type { ConfiguredSource } from '../../config/config.ts'

/**
 * True if readers may see texts of its skills that are not served. If a lock or signatures bind a source, only what
 * they admit now is shown. Other texts from other servers are not kept.
 */
export function isTextFree({ source, signed }: ConfiguredSource, isBound: boolean): boolean {
  return source.kind !== 'mcp' && !isBound && signed === undefined
}
