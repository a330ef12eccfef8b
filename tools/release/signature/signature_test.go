package signature

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

func generate(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func encode(t *testing.T, private any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// public parses the public key that is published.
func public(t *testing.T, k Key) *ecdsa.PublicKey {
	t.Helper()
	text, err := k.PublicPEM()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.(*ecdsa.PublicKey)
}

func TestSignaturesAreVerifiedWithThePublicKey(t *testing.T) {
	private := generate(t, elliptic.P256())
	key, err := Parse(encode(t, private))
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.Detached([]byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := sha256.Sum256([]byte("content")), sha256.Sum256([]byte("Content"))
	if !ecdsa.VerifyASN1(public(t, key), right[:], raw) || ecdsa.VerifyASN1(public(t, key), wrong[:], raw) {
		t.Error("the signature is not that of the content only")
	}
	if again, err := key.Detached([]byte("content")); err != nil || again != text {
		t.Errorf("signing again gives another signature, or %v", err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	same, err := Parse(string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
	if err != nil || !public(t, same).Equal(public(t, key)) {
		t.Errorf("the key in SEC 1 is another key, or %v", err)
	}
}

// verifier is one of DSSE's library.
type verifier struct{ key *ecdsa.PublicKey }

func (v verifier) Verify(_ context.Context, data, sig []byte) error {
	if sum := sha256.Sum256(data); !ecdsa.VerifyASN1(v.key, sum[:], sig) {
		return errors.New("wrong signature")
	}
	return nil
}

func (verifier) KeyID() (string, error) { return "", nil }

func (v verifier) Public() crypto.PublicKey { return v.key }

func TestEnvelopes(t *testing.T) {
	key, err := Parse(encode(t, generate(t, elliptic.P256())))
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.Envelope("text/it", []byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		t.Fatal(err)
	}
	check, err := dsse.NewEnvelopeVerifier(verifier{public(t, key)})
	if err != nil {
		t.Fatal(err)
	}
	if _, payload, err := check.VerifyAndDecode(t.Context(), &envelope); err != nil || string(payload) != "payload" {
		t.Errorf("payload %q, %v", payload, err)
	}
	envelope.PayloadType = "text/other"
	if _, err := check.Verify(t.Context(), &envelope); err == nil {
		t.Error("an envelope with another type is accepted")
	}
}

func TestOtherKeysAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no PEM":      {"secret", "not in PEM"},
		"other curve": {encode(t, generate(t, elliptic.P384())), "curve P-256"},
		"public key":  {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "it is a PUBLIC KEY"},
		"encrypted":   {"-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n", "not encrypted"},
	} {
		if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
