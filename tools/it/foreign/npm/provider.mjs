// A provider of OpenID Connect made of npm's oidc-provider package: whoever is told signs in and consents without a page.
// It says what happened, one JSON object a line; it is told a verb with fields, tabs between, on its standard input, and
// ends with that. Its options are JSON in its first argument.
import crypto from 'node:crypto';
import http from 'node:http';
import readline from 'node:readline';

// What the package says of its runtime and settings goes where it does not disturb.
for (const level of ['log', 'info', 'warn']) console[level] = console.error;
const { Provider, errors } = await import('oidc-provider');

const options = Object.assign(
  { port: 0, alg: 'RS256', client_id: 'campanile', client_secret: 'secret', redirect_uri: '', accounts: {} },
  JSON.parse(process.argv[2] || '{}'),
);

const say = (event) => process.stdout.write(JSON.stringify(event) + '\n');

// Who signs in next, what is wrong with the next ID tokens, and whether whoever is asked refuses.
let who = null;
let lie = null;
let denies = false;
let keys = 0;

function signingKey() {
  keys += 1;
  const { privateKey } = options.alg === 'ES256'
    ? crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { private: privateKey, jwk: { ...privateKey.export({ format: 'jwk' }), kid: `key-${keys}`, use: 'sig', alg: options.alg } };
}

const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function signed(header, claims, key) {
  const content = `${encoded(header)}.${encoded(claims)}`;
  const signature = crypto.sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
}

// The package tells no lies, so its token is opened, changed, and signed again by its own key or another one.
function spoiled(token, key) {
  const [header, claims] = token.split('.').slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url')));
  const now = Math.floor(Date.now() / 1000);
  switch (lie) {
    case 'nonce': claims.nonce = 'another'; break;
    case 'audience': claims.aud = 'another'; break;
    case 'party': claims.aud = [options.client_id, 'another']; break;
    case 'issuer': claims.iss = 'https://evil.example'; break;
    case 'expired': claims.iat = now - 7200; claims.exp = now - 3600; break;
    case 'future': claims.iat = now + 3600; break;
    case 'unsigned': return `${encoded({ alg: 'none' })}.${encoded(claims)}.`;
    case 'foreign': return signed(header, claims, signingKey().private);
    case 'subject': claims.sub = 'somebody-else'; break;
    default: throw new Error(`no such lie: ${lie}`);
  }
  return signed(header, claims, key);
}

function configuration(key) {
  return {
    clients: [{
      client_id: options.client_id,
      client_secret: options.client_secret,
      redirect_uris: [options.redirect_uri],
      response_types: ['code'],
      grant_types: ['authorization_code'],
      id_token_signed_response_alg: options.alg,
    }],
    jwks: { keys: [key.jwk] },
    cookies: { keys: [crypto.randomBytes(16).toString('hex')] },
    claims: { email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, sub) => {
      const account = options.accounts[sub];
      return account && { accountId: sub, claims: async () => ({ sub, ...account }) };
    },
  };
}

async function interact(provider, request, response) {
  const details = await provider.interactionDetails(request, response);
  const { prompt, params, session } = details;
  say({ event: 'asked', prompt: prompt.name, scope: params.scope, challenge: params.code_challenge_method });
  let result;
  if (denies) {
    result = { error: 'access_denied', error_description: 'not today' };
  } else if (prompt.name === 'login') {
    result = { login: { accountId: who } };
  } else {
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    result = { consent: { grantId: await grant.save() } };
  }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: prompt.name !== 'login' });
}

function made(issuer) {
  const key = signingKey();
  const provider = new Provider(issuer, configuration(key));
  provider.use(async (context, next) => {
    await next();
    if (lie !== null && context.path === '/token' && context.body && context.body.id_token) {
      context.body = { ...context.body, id_token: spoiled(context.body.id_token, key.private) };
    }
  });
  provider.on('grant.success', (context) => say({ event: 'granted', client: context.oidc.client.clientId }));
  provider.on('grant.error', (_, error) => say({ event: 'refused', error: error.error, detail: error.error_detail || '' }));
  provider.on('server_error', (_, error) => say({ event: 'failed', error: String(error.stack) }));
  const callback = provider.callback();
  return (request, response) => {
    if (!request.url.startsWith('/interaction/')) return callback(request, response);
    return interact(provider, request, response).catch((error) => {
      say({ event: error instanceof errors.SessionNotFound ? 'lost' : 'failed', error: String(error.stack) });
      response.writeHead(500).end();
    });
  };
}

let handler;
const server = http.createServer((request, response) => handler(request, response));
let issuer;

function listen(port, event) {
  server.listen(port, '127.0.0.1', () => {
    issuer = `http://127.0.0.1:${server.address().port}`;
    if (handler === undefined) handler = made(issuer);
    say({ event, issuer, port: server.address().port });
  });
}

const verbs = {
  who: (fields) => { who = fields.sub; },
  lie: (fields) => { lie = fields.kind === 'none' ? null : fields.kind; },
  deny: (fields) => { denies = fields.on === 'yes'; },
  rotate: () => { handler = made(issuer); },
  stop: () => { server.close(); server.closeAllConnections(); },
  listen: (fields) => listen(Number(fields.port), 'listening again'),
};

readline.createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [verb, ...fields] = line.split('\t');
    verbs[verb](Object.fromEntries(fields.map((field) => [field.slice(0, field.indexOf('=')), field.slice(field.indexOf('=') + 1)])));
    if (verb !== 'listen') say({ event: 'done', verb });
  })
  .on('close', () => process.exit(0));

listen(options.port, 'listening');
