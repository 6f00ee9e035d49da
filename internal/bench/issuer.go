package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// An issuer has issued a token, and serves the key that verifies it.
type issuer struct {
	address string
	token   string
	server  *http.Server
}

// issuerURL is the token's issuer. Nobody connects there.
const issuerURL = "https://issuer.example"

// startIssuer issues a token that is valid for longer than every measurement.
func startIssuer(ctx context.Context) (*issuer, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key := jose.JSONWebKey{Key: private, KeyID: "bench", Algorithm: string(jose.ES256), Use: "sig"}
	token, err := sign(key)
	if err != nil {
		return nil, err
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
	if err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &issuer{address: ln.Addr().String(), token: token, server: &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(keys) }),
	}}
	go func() { _ = s.server.Serve(ln) }() // until it is stopped
	return s, nil
}

func (s *issuer) stop() error { return s.server.Close() }

func sign(key jose.JSONWebKey) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss": issuerURL, "aud": "bench", "sub": "bench", "exp": time.Now().Add(24 * time.Hour).Unix(),
	})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
