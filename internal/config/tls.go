package config

import (
	"crypto/tls"
	"path/filepath"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// TLS is what the gateway shows clients that reach it over https.
type TLS struct {
	// File with the certificate and those of its issuers, in PEM, relative to this file. The gateway follows
	// changes of both files; while they do not fit together, it keeps the old pair and logs why.
	Cert string `yaml:"cert,required" default:"(none)"`
	// File with the certificate's private key, in PEM and without a password, relative to this file.
	Key string `yaml:"key,required" default:"(none)"`

	// Certificate is what the two files hold. It is not nil after loading.
	Certificate *tls.Certificate
}

// expiresSoon is how long before its end a certificate causes a warning.
const expiresSoon = 14 * 24 * time.Hour

// Expires returns when the certificate ends, and whether it should be renewed soon.
func (t *TLS) Expires() (at time.Time, soon bool) {
	at = t.Certificate.Leaf.NotAfter
	return at, time.Until(at) < expiresSoon
}

// tls loads the pair and reports why it cannot be served.
func (v *validator) tls(t *TLS, node *strictyaml.Node) {
	if t == nil || node.Get("cert") == nil || node.Get("key") == nil { // already reported
		return
	}
	cert, certOK := v.file(&t.Cert, node.Get("cert"))
	key, keyOK := v.file(&t.Key, node.Get("key"))
	if !certOK || !keyOK {
		return
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		at, hint := node.Get("key"), "write the files of one certificate and its key, in PEM; the key must have no password"
		if strings.Contains(err.Error(), "certificate input") {
			at = node.Get("cert")
		}
		v.doc.Reportf(at.Pos(), hint, "the certificate and its key cannot be used: %s", strings.TrimPrefix(err.Error(), "tls: "))
		return
	}
	t.Certificate = &pair
	switch now, leaf := time.Now(), pair.Leaf; {
	case now.After(leaf.NotAfter):
		v.doc.Reportf(node.Get("cert").Pos(), "renew it", "the certificate expired on %s", leaf.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		v.doc.Reportf(node.Get("cert").Pos(), "check the clock", "the certificate is valid only from %s",
			leaf.NotBefore.UTC().Format(time.RFC3339))
	}
}

// file reads a file that the configuration names, relative to the directory of the file that names it.
func (v *validator) file(name *string, node *strictyaml.Node) (text []byte, ok bool) {
	if *name == "" {
		v.doc.Reportf(node.Pos(), "", "the name of the file is empty")
		return nil, false
	}
	if !filepath.IsAbs(*name) {
		*name = filepath.Join(v.beside(node), *name)
	}
	text, err := v.readFile(*name)
	if err != nil {
		v.doc.Reportf(node.Pos(), "check its name and who may read it", "the file cannot be read: %s", err)
	}
	return text, err == nil
}
