// Package manifest reads the YAML that users apply to a cluster into the objects that a cluster would then hold: strictly
// decoded, with the defaults of the API server, validated, and with workloads unrolled into the pods that their
// controllers would create.
//
// Reading is deterministic: the result does not depend on time, randomness or the order of files, and names and UIDs
// of generated objects are derived from their owners. Every error names file, line, document and field.
//
// Of Kubernetes kinds, the fields that scheduling reads are defaulted and validated; Karpenter's kinds are defaulted and
// validated by the schemas and rules of their CRDs, by the code the API server uses.
package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Stdin is the path of standard input.
const Stdin = "-"

// Manifest is the content of files.
type Manifest struct {
	// Objects in the order they were read. [Expand] turns them into the objects of a cluster.
	Objects []client.Object
	// Skipped are documents of kinds that do not affect scheduling, as "<place>: <kind> <name>".
	Skipped []string
	// places are the positions of the objects, until duplicates have been ruled out.
	places []place
}

// place is the position of an object: a document, or an item of its list.
type place struct {
	document
	prefix string
}

// Reader decodes documents. It is safe for concurrent use.
type Reader struct {
	scheme  *runtime.Scheme
	schemas map[string]*schema // by group/version/kind
	// stored are the objects that manifests would update, by what describe returns; nil to read manifests by themselves.
	stored map[string]client.Object
}

// NewReader returns a reader of the kinds of Kubernetes and of those that definitions describe. provided register the types of
// cloud providers; documents of groups without types are skipped.
func NewReader(definitions []*apiextensionsv1.CustomResourceDefinition, provided ...func(*runtime.Scheme) error) (*Reader, error) {
	r := &Reader{scheme: runtime.NewScheme(), schemas: map[string]*schema{}}
	if err := addKinds(r.scheme); err != nil {
		return nil, fmt.Errorf("registering kinds: %w", err)
	}
	for _, add := range provided {
		if err := add(r.scheme); err != nil {
			return nil, fmt.Errorf("registering the kinds of cloud providers: %w", err)
		}
	}
	for _, d := range definitions {
		if err := r.define(d); err != nil {
			return nil, fmt.Errorf("compiling CustomResourceDefinition %q: %w", d.Name, err)
		}
	}
	return r, nil
}

// ReadPaths reads files, directories (their .yaml, .yml and .json files, subdirectories included) and, for "-", stdin.
// The error lists all errors in all of them.
func (r *Reader) ReadPaths(paths []string, stdin io.Reader) (Manifest, error) {
	var all Manifest
	var errs []error
	for _, path := range paths {
		if path == Stdin {
			errs = append(errs, r.readInto(&all, "stdin", stdin))
			continue
		}
		files, err := filesOf(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, file := range files {
			errs = append(errs, r.readFile(&all, file))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Manifest{}, err
	}
	return all, all.unique()
}

// Read reads one stream of documents. name is what errors call it.
func (r *Reader) Read(name string, in io.Reader) (Manifest, error) {
	var m Manifest
	if err := r.readInto(&m, name, in); err != nil {
		return Manifest{}, err
	}
	return m, m.unique()
}

func (r *Reader) readFile(into *Manifest, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.readInto(into, file, f)
}

func (r *Reader) readInto(into *Manifest, name string, in io.Reader) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	var errs []error
	for _, d := range split(name, text) {
		if err := r.decode(into, d); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// filesOf is path itself, or the manifest files below it, sorted.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if extension := strings.ToLower(filepath.Ext(file)); !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, extension) {
			files = append(files, file)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("directory %s holds no .yaml, .yml or .json file", path)
	}
	slices.Sort(files)
	return files, err
}

// unique fails when two objects are the same one.
func (m *Manifest) unique() error {
	seen := make(map[string]int, len(m.Objects))
	var errs []error
	for i, o := range m.Objects {
		id := describe(o)
		first, twice := seen[id]
		if !twice {
			seen[id] = i
			continue
		}
		at, before := m.places[i], m.places[first]
		name := "metadata.name"
		errs = append(errs, at.problem(id, at.prefix+name, "described before, in %s:%d; keep one of them", before.file, before.lineOf(before.prefix+name)))
	}
	m.places = nil
	return errors.Join(errs...)
}

// describe names an object for people: kind, then namespace/name.
func describe(o client.Object) string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return o.GetObjectKind().GroupVersionKind().Kind + " " + name
}
