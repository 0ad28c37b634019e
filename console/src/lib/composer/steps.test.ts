import { expect, test } from 'vitest';
import { fieldId, stepOf } from './steps';

test('a problem belongs to the step that its field stands on', () => {
	expect(['headline', 'texts.sv.sms', 'audience[2]', 'area.polygons', 'choices[0].label', 'expires'].map(stepOf)).toEqual(['message', 'message', 'audience', 'audience', 'delivery', 'delivery']);
});

test('an element is named after its field', () => {
	expect([fieldId('text'), fieldId('texts.sv.sms'), fieldId('choices[0].label'), fieldId('audience[2]')]).toEqual(['field-text', 'field-texts-sv-sms', 'field-choices-0-label', 'field-audience-2']);
});
