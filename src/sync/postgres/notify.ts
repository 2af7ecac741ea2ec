import type { PoolClient } from 'pg'

/** Announces a change to all processes once the transaction is committed. */
export async function notify(client: Pick<PoolClient, 'query'>): Promise<void> {
  await client.query(`NOTIFY ${CHANNEL}`)
}

/** The channel of notifications. They are hints: what changed is read from the tables. */
export const CHANNEL = 'skillsyncd'
