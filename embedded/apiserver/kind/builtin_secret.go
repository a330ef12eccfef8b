package kind

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func secretHooks() hooks {
	return hooks{
		defaults: on(func(o *corev1.Secret) {
			set(&o.Type, corev1.SecretTypeOpaque)
			for key, text := range o.StringData {
				if o.Data == nil {
					o.Data = map[string][]byte{}
				}
				o.Data[key] = []byte(text)
			}
			o.StringData = nil
		}),
		validate: on2(func(o, old *corev1.Secret, _ bool) field.ErrorList {
			if old == nil {
				old = &corev1.Secret{Type: o.Type}
			}
			errs := validation.ValidateImmutableField(o.Type, old.Type, field.NewPath("type"))
			return append(errs, validateData(o.Data, old.Data, o.Immutable, old.Immutable)...)
		}),
		columns: []column{
			nameColumn(), text("Type", "type"), {name: "Data", kind: "string", value: func(o row) any { return len(o.object("data")) }}, ageColumn(),
		},
	}
}
