// A process that a client of stdio starts: what it is told goes to a port of this machine, and what is said there comes out.
import { connect } from 'node:net'

const socket = connect(Number(process.argv[2]), '127.0.0.1')
socket.on('error', () => {})
socket.on('close', () => process.exit(0))
process.stdin.pipe(socket).pipe(process.stdout)
