package instance_test

import (
	"regexp"
	"testing"

	"github.com/karpenter-anew/karpenter/cloud/aws/instance"
)

// FuzzProviderID checks that the ID of an instance is read back from its provider ID, and that of any text only what can be the ID of an instance
// is taken for one.
func FuzzProviderID(f *testing.F) {
	for _, seed := range []string{
		"aws:///us-east-1a/i-0123456789abcdef0", "aws:////i-1", "aws:///a/i-1/i-2", "aws:///a/i-", "aws:///a/i-1\n", "aws:///\n/i-1", "kwok://a", "aws:///a/sir-1", "aws:///a/i-A", "",
	} {
		f.Add(seed)
	}
	valid := regexp.MustCompile(`\Ai-[0-9a-z]+\z`)
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := instance.ParseProviderID(text)
		if ok != valid.MatchString(id) {
			t.Fatalf("%q: got %q, %t", text, id, ok)
		}
		if !ok {
			return
		}
		if again, ok := instance.ParseProviderID(instance.ProviderID("us-east-1a", id)); !ok || again != id {
			t.Errorf("%q: got %q, which becomes %q", text, id, again)
		}
	})
}
