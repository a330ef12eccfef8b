package crds_test

import (
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-anew/karpenter/api/crds"
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

// TestAPIServer installs the CRDs in a real API server and lets it judge.
func TestAPIServer(t *testing.T) {
	t.Attr("covers", "C325 N256 N263")
	log.SetLogger(logr.Discard())
	definitions, err := crds.Core()
	if err != nil {
		t.Fatal(err)
	}
	c := crdtest.Start(t, definitions)
	for _, group := range crdtest.ReadVectors(t, "testdata/vectors.yaml") {
		t.Run(group.Rule, func(t *testing.T) { group.Check(t, c) })
	}
	t.Run("defaults", func(t *testing.T) { checkDefaults(t, c) })
	t.Run("status", func(t *testing.T) { checkStatus(t, c) })
	t.Run("scale", func(t *testing.T) { checkScale(t, c) })
	t.Run("round trip", func(t *testing.T) { checkRoundTrip(t, c) })
	t.Run("the largest pool", func(t *testing.T) { crdtest.LargestPool(t, c) })
}
