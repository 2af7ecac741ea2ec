import { isIP, Socket } from 'node:net'

// Imported by a program of others before it starts (NODE_OPTIONS=--import): it reaches this machine alone, and says so where
// it would have gone elsewhere.

// oxlint-disable-next-line unbound-method -- it is called with the socket below
const connect = Socket.prototype.connect

Socket.prototype.connect = function (...given) {
  const [options] = Array.isArray(given[0]) ? given[0] : given
  const host = options?.host ?? 'localhost'
  if (options?.path === undefined && !isHere(host)) {
    process.stderr.write(`WOULD CONNECT TO ${host}\n`)
    this.destroy(new Error(`This test may not reach ${host}`))
    return this
  }
  return connect.apply(this, given)
}

function isHere(host) {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
