/*
 * sockets - what a program without a proxy setting does, in node.
 *
 *	get URL		prints a page
 *	tcp HOST PORT	connects, sends a line and wants one back
 */
'use strict';
const https = require('https');
const net = require('net');

function fail(text) {
	console.log(text);
	process.exit(1);
}

function get(url) {
	https.get(url, { timeout: 20000 }, (page) => {
		if (page.statusCode !== 200)
			fail('status ' + page.statusCode);
		page.pipe(process.stdout);
	}).on('error', (error) => fail(error.message));
}

function tcp(host, port) {
	const peer = net.connect({ host, port: Number(port), timeout: 10000 });
	let heard = '';

	peer.on('connect', () => peer.write('GET / HTTP/1.0\r\n\r\n'));
	peer.on('data', (data) => { heard += data; });
	peer.on('timeout', () => fail('no answer'));
	peer.on('error', (error) => fail(error.message));
	peer.on('close', () => {
		if (heard === '' || heard.split('\r\n')[0].includes(' 403 '))
			fail(heard.split('\r\n')[0] || 'closed without a word');
	});
}

({ get, tcp })[process.argv[2]](...process.argv.slice(3));
