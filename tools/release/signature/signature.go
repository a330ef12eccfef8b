// Package signature signs with an ECDSA key on the curve P-256, so that cosign and openssl verify it. Signatures are deterministic
// (RFC 6979): the same content and key give the same signature.
package signature

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// Key is a private key.
type Key struct{ private *ecdsa.PrivateKey }

// Parse reads a private key in PEM: PKCS #8 or SEC 1, not encrypted.
func Parse(text string) (Key, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return Key{}, errors.New("it is not in PEM")
	}
	var parsed any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		return Key{}, fmt.Errorf("it is a %s; give a key that is not encrypted, of type PRIVATE KEY or EC PRIVATE KEY", block.Type)
	}
	if err != nil {
		return Key{}, err
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return Key{}, errors.New("it is not an ECDSA key on the curve P-256")
	}
	return Key{private}, nil
}

// PublicPEM is the public key in PEM.
func (k Key) PublicPEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

// Sign returns the signature of a content in ASN.1, over its SHA-256 digest.
func (k Key) Sign(_ context.Context, content []byte) ([]byte, error) {
	digest := sha256.Sum256(content)
	return k.private.Sign(nil, digest[:], crypto.SHA256)
}

// KeyID is empty: verifiers are given the key.
func (Key) KeyID() (string, error) { return "", nil }

// Detached returns the signature in base64, as cosign writes it.
func (k Key) Detached(content []byte) (string, error) {
	raw, err := k.Sign(context.Background(), content)
	return base64.StdEncoding.EncodeToString(raw), err
}

// Envelope returns a DSSE envelope of a payload, as one line of JSON.
func (k Key) Envelope(payloadType string, payload []byte) ([]byte, error) {
	signer, err := dsse.NewEnvelopeSigner(k)
	if err != nil {
		return nil, err
	}
	envelope, err := signer.SignPayload(context.Background(), payloadType, payload)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(envelope)
	return append(text, '\n'), err
}
