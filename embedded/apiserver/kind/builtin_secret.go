package kind

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
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
			var errs field.ErrorList
			if old != nil {
				errs = append(errs, validation.ValidateImmutableField(o.Type, old.Type, field.NewPath("type"))...)
			}
			if old != nil && ptr.Deref(old.Immutable, false) {
				if !ptr.Deref(o.Immutable, false) {
					errs = append(errs, field.Forbidden(field.NewPath("immutable"), "field is immutable when `immutable` is set"))
				}
				if !equality.Semantic.DeepEqual(o.Data, old.Data) {
					errs = append(errs, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
				}
			}
			for key := range o.Data {
				for _, problem := range utilvalidation.IsConfigMapKey(key) {
					errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, problem))
				}
			}
			return errs
		}),
		columns: []column{
			nameColumn(), text("Type", "type"), {name: "Data", kind: "string", value: func(o row) any { return len(o.object("data")) }}, ageColumn(),
		},
	}
}
