package snapshot

import (
	"encoding/json"
	"fmt"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// poolHashes are the hashes of the templates of NodePools after redaction, by their hashes before it. A NodeClaim that matched its NodePool
// must match it afterwards, or the simulation of a redacted snapshot would find drift.
type poolHashes map[string]string

// poolHashes returns the hashes of all NodePools of the snapshot, which r redacts.
func (s Snapshot) poolHashes(r *redaction) (poolHashes, error) {
	out := poolHashes{}
	for _, e := range s.entries {
		kind := s.format.kinds[e.kind]
		if kind.gvk.Group != v1.Group || kind.gvk.Kind != "NodePool" {
			continue
		}
		plain, err := e.content()
		if err != nil {
			return nil, err
		}
		before, err := poolHash(plain)
		if err != nil {
			return nil, err
		}
		redacted, _ := r.walk(kind.root, plain, "", r.names.of).(map[string]any)
		if out[before], err = poolHash(redacted); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func poolHash(content map[string]any) (string, error) {
	text, err := json.Marshal(content)
	pool := &v1.NodePool{}
	if err == nil {
		err = json.Unmarshal(text, pool)
	}
	if err != nil {
		return "", fmt.Errorf("reading a NodePool back: %w", err)
	}
	return pool.Hash(), nil
}

// replace puts the hashes after redaction into the annotations of an object. A hash of no NodePool stays: it matches none afterwards either.
func (h poolHashes) replace(content map[string]any) {
	metadata, _ := content["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	hash, _ := annotations[v1.NodePoolHashAnnotationKey].(string)
	if after, ok := h[hash]; ok {
		annotations[v1.NodePoolHashAnnotationKey] = after
	}
}
