package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// A Certificate is a self-signed certificate for loopback with its key, in PEM.
type Certificate struct {
	Cert, Key []byte
	Leaf      *x509.Certificate
}

// NewCertificate returns a certificate that is valid from one time to another, relative to now.
func NewCertificate(tb testing.TB, from, to time.Duration) Certificate {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: now.Add(from), NotAfter: now.Add(to),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return Certificate{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		Leaf: leaf,
	}
}

// Server returns the configuration of a server with this certificate.
func (c Certificate) Server(tb testing.TB) *tls.Config {
	tb.Helper()
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

// Client returns the configuration of a client that trusts these certificates.
func (c Certificate) Client(others ...Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(c.Leaf)
	for _, other := range others {
		pool.AddCert(other.Leaf)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
