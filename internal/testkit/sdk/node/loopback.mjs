// Preloaded into a server that would listen on every interface and live on: it listens on the loopback interface only,
// says on which port, and ends with its stdin, and so with whoever started it.
import net from 'node:net';

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (port, ...rest) {
  this.once('listening', () => process.stdout.write(`testkit: port ${this.address().port}\n`));
  const callbacks = rest.filter((arg) => typeof arg === 'function');
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ...callbacks);
};

process.stdin.on('end', () => process.exit(0)).resume();
