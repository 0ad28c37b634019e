/** In drill space every address begins with `/drill`. */
export const match = (segment: string): segment is 'drill' => segment === 'drill';
