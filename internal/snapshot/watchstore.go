package snapshot

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ cache.ReflectorStore = (*watchedKind)(nil)

// Add implements cache.ReflectorStore.
func (k *watchedKind) Add(o any) error {
	key, read, err := k.read(o)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.put(key, read, err)
	return nil
}

// Update implements cache.ReflectorStore.
func (k *watchedKind) Update(o any) error { return k.Add(o) }

// Delete implements cache.ReflectorStore.
func (k *watchedKind) Delete(o any) error {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.put(key, nil, nil)
	return nil
}

// Replace implements cache.ReflectorStore.
func (k *watchedKind) Replace(items []any, _ string) error {
	type result struct {
		object client.Object
		err    error
	}
	found := make(map[string]result, len(items))
	for _, item := range items {
		key, object, err := k.read(item)
		found[key] = result{object, err}
	}
	k.mu.Lock()
	for key := range k.objects {
		if _, still := found[key]; !still {
			k.put(key, nil, nil)
		}
	}
	for key := range k.broken {
		if _, still := found[key]; !still {
			k.put(key, nil, nil)
		}
	}
	for key, r := range found {
		k.put(key, r.object, r.err)
	}
	k.mu.Unlock()
	k.once.Do(func() { close(k.listed) })
	return nil
}

// Resync implements cache.ReflectorStore.
func (*watchedKind) Resync() error { return nil }

// read reads an object as that of a snapshot file is read. It is nil for kinds that have no bearing on scheduling.
func (k *watchedKind) read(o any) (string, client.Object, error) {
	content, ok := o.(*unstructured.Unstructured)
	if !ok {
		return fmt.Sprintf("%p", o), nil, fmt.Errorf("reading a %s: it is a %T", k.kind.gvk.Kind, o)
	}
	key := cache.MetaObjectToName(content).String()
	content.SetResourceVersion("") // not part of a snapshot
	read, err := k.of.reader.Object("cluster", content.Object)
	return key, read, err
}

// put makes an object, or the error why it cannot be read, the present one; neither deletes it. The lock is held.
func (k *watchedKind) put(key string, o client.Object, err error) {
	before, had := k.objects[key]
	_, failed := k.broken[key]
	if err == nil && !failed && (o == nil && !had || o != nil && had && equality.Semantic.DeepEqual(before, o)) {
		return
	}
	delete(k.broken, key)
	switch {
	case err != nil:
		k.broken[key] = err // the object that was there is better than none
	case o != nil:
		k.objects[key] = o
	default:
		delete(k.objects, key)
	}
	k.sorted = nil
	k.of.changes.Add(1)
}
