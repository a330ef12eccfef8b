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
		if !kind.isNodePool() {
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

func (k kind) isNodePool() bool { return k.gvk.Group == v1.Group && k.gvk.Kind == "NodePool" }

// keepHash annotates what a snapshot has of a NodePool with the hash of its whole template, if they differ: annotations of the template are not
// in the snapshot, and all NodeClaims would seem to have drifted.
func keepHash(kept, whole map[string]any) error {
	hash, err := poolHash(whole)
	if err != nil {
		return err
	}
	without, err := poolHash(kept)
	if err != nil || hash == without {
		return err
	}
	metadata, _ := kept["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[v1.NodePoolHashAnnotationKey], annotations[v1.NodePoolHashVersionAnnotationKey] = hash, v1.NodePoolHashVersion
	annotations[v1.NodePoolSnapshotHashAnnotationKey] = without
	return nil
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
	for _, key := range []string{v1.NodePoolHashAnnotationKey, v1.NodePoolSnapshotHashAnnotationKey} {
		hash, _ := annotations[key].(string)
		if after, ok := h[hash]; ok {
			annotations[key] = after
		}
	}
}
