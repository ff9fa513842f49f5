/*
 * An origin that speaks HTTP/2, with TLS or without, and HTTP/1.1 where it is
 * told to.  Says its port, then a line of JSON for each request it has seen.
 *
 * node http2_origin.js {tls|clear|plain} {h2|switch|both|http1} CERT KEY
 */
const http2 = require('http2');
const https = require('https');
const fs = require('fs');
const [kind, versions, cert, key] = process.argv.slice(2);
const block = Buffer.alloc(65536, 'x');

const answers = {
  '/hello': (req, res) => res.end('hello ' + req.httpVersion),
  '/echo': (req, res) => {
    res.writeHead(200, { 'x-length': req.headers['content-length'] || '-' });
    req.pipe(res);
  },
  '/trailers': (req, res) => {
    res.writeHead(200, { trailer: 'x-sum' });
    res.write('body');
    res.addTrailers({ 'x-sum': 'all' });
    res.end();
  },
  '/empty': (req, res) => { res.statusCode = 204; res.end(); },
  '/early': (req, res) => { res.statusCode = 413; res.end('too much'); },
  '/hints': (req, res) => {
    res.writeEarlyHints({ link: '</x>; rel=preload' });
    res.end('hinted');
  },
  '/cookies': (req, res) => res.end(String(req.headers.cookie)),
  '/sse': (req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('data: first\n\n');
    req.on('close', () => res.end());
  },
  '/big': (req, res) => {
    let left = Number(new URL(req.url, 'http://x').searchParams.get('n'));
    const more = () => {
      while (left > 0) {
        const piece = block.subarray(0, Math.min(left, block.length));
        left -= piece.length;
        if (!res.write(piece)) {
          res.once('drain', more);
          return;
        }
      }
      res.end();
    };
    more();
  },
  '/cut': (req, res) => {
    res.writeHead(200);
    res.write('part', () => {
      if (res.stream) res.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
      else res.socket.destroy();
    });
  },
  '/never': () => {},
  '/goaway': (req, res) => {
    req.stream.session.goaway(0, req.stream.id);
    setTimeout(() => res.end('after goaway'), 50);
  },
};

function on_request(req, res) {
  console.log(JSON.stringify({ path: req.url, method: req.method,
    version: req.httpVersion, authority: req.authority || req.headers.host,
    te: req.headers.te, port: req.socket ? req.socket.remotePort : 0 }));
  const answer = answers[req.url.split('?')[0]];
  if (answer) answer(req, res);
  else res.end('page');
}

const files = kind === 'tls' ?
  { cert: fs.readFileSync(cert), key: fs.readFileSync(key) } : {};
let server;
if (kind === 'plain') server = require('http').createServer();
else if (kind === 'clear') server = http2.createServer();
else if (versions === 'http1') server = https.createServer(files);
else server = http2.createSecureServer({ ...files,
  allowHTTP1: versions === 'both',
  settings: { enableConnectProtocol: versions === 'switch' } });
server.on('request', on_request);

// WebSocket: bytes right behind the handshake, then an echo of bytes.
server.on('upgrade', (req, socket) => {
  if (req.url === '/plain') {
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno');
    return;
  }
  const proof = require('crypto').createHash('sha1').update(
    req.headers['sec-websocket-key'] +
    '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  console.log(JSON.stringify({ path: req.url, upgrade: req.headers.upgrade,
    version: req.httpVersion }));
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n' +
    'Connection: Upgrade\r\nSec-WebSocket-Accept: ' +
    (req.url === '/unproven' ? 'x' : proof) + '\r\n\r\n\x81\x02hi', 'latin1');
  socket.pipe(socket);
  socket.on('error', () => {});
});
server.on('connect', (req, res) => {
  const stream = res.stream;
  console.log(JSON.stringify({ path: req.url, version: '2.0',
    upgrade: req.headers[':protocol'] }));
  stream.respond({ ':status': 200 });
  stream.write('\x81\x02hi', 'latin1');
  stream.pipe(stream);
  stream.on('error', () => {});
});
server.on('sessionError', () => {});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
