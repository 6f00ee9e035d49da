// Preloaded into a server that would listen on all interfaces and never exit: it listens on the loopback interface only,
// prints the port, and exits with its stdin, and so with its parent.
import net from 'node:net';

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (port, ...rest) {
  this.once('listening', () => process.stdout.write(`testkit: port ${this.address().port}\n`));
  const callbacks = rest.filter((arg) => typeof arg === 'function');
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ...callbacks);
};

process.stdin.on('end', () => process.exit(0)).resume();
