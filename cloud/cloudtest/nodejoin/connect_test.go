package nodejoin_test

import (
	"encoding/pem"
	"net/http/httptest"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/cloudtest/nodejoin"
)

func TestTheWayToTheAPIServerIsTriedForReal(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := nodejoin.Reach(t.Context(), server.URL, trusted); err != nil {
		t.Error(err)
	}
	if err := nodejoin.Reach(t.Context(), server.URL, []byte("nonsense")); err == nil {
		t.Error("an authority without certificate is trusted")
	}
	foreign := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("nonsense")})
	if err := nodejoin.Reach(t.Context(), server.URL, foreign); err == nil {
		t.Error("a foreign authority is trusted")
	}
	server.Close()
	if err := nodejoin.Reach(t.Context(), server.URL, trusted); err == nil {
		t.Error("a server that is gone answers")
	}
}
