"""Infers the meaning of a column from its name, by a multilingual table of words.

A name is split into words (`birthDate`, `date_of_birth`, `GEB-DATUM`), without case, accents and
digits; an entry of the table matches one word, or several consecutive ones written together. The
match of most words wins, so that a country of birth is not a date of birth, then the first meaning
in the table. A name tells the intention, never the content: an unknown name makes no column
harmless.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple

Part = Literal["identifier", "quasi_identifier", "sensitive", "undecided"]


@dataclass(frozen=True)
class Meaning:
    """The meaning of a word in a name, and the usual role of such a column."""

    spoken: str
    part: Part
    certain: bool = False
    """Whether it names a person directly, whatever its values."""


MEANINGS: dict[Meaning, str] = {
    Meaning("an e-mail address", "identifier", certain=True): """
        email mail emailaddress mailaddress courriel correo correoelectronico posta epost
        emailadresse
        """,
    Meaning("a telephone number", "identifier", certain=True): """
        phone telephone tel mobile cellphone cell fax telefon telefonnummer handy mobil portable
        telefono movil celular cellulare telefone telemovel telefoon telefoonnummer puhelin tlf
        """,
    Meaning("a national number", "identifier", certain=True): """
        ssn socialsecurity socialsecuritynumber nationalid nationalidentificationnumber
        nhsnumber nhs nin nino passport passportnumber driverslicense drivinglicence
        licenseplate licenceplate plate vin iban bic accountnumber creditcard cardnumber
        insurancenumber mrn medicalrecordnumber steuernummer steuerid ausweis ausweisnummer
        reisepass versichertennummer krankenversichertennummer kfzkennzeichen kontonummer nir
        numerosecu securitesociale passeport dni nie nif nuss pasaporte curp rfc codicefiscale
        passaporto cpf cnpj nis rg bsn burgerservicenummer paspoort cpr personnummer
        fodselsnummer henkilotunnus pesel ahv ahvnummer
        """,
    Meaning("an address of a computer or a device", "identifier", certain=True): """
        ip ipaddress ipaddr macaddress imei imsi deviceid cookie cookieid advertisingid
        """,
    Meaning("a name", "identifier", certain=True): """
        surname lastname firstname fullname givenname familyname middlename maidenname forename
        patientname customername username login nickname nachname vorname familienname
        benutzername nom prenom nomdefamille nomcomplet nombre apellido apellidos cognome nome
        sobrenome apelido achternaam voornaam naam fornavn etternavn efternavn fornamn efternamn
        etunimi sukunimi imie nazwisko
        """,
    Meaning("a name", "identifier"): "name names",
    Meaning("an address", "identifier"): """
        address addr street streetaddress housenumber adresse strasse hausnummer anschrift rue
        direccion domicilio calle indirizzo via endereco morada adres straat adresa
        """,
    Meaning("a place on the map", "identifier"): """
        latitude longitude lat lon lng geolocation coordinates gps breitengrad laengengrad
        latitud longitud
        """,
    Meaning("a number of something", "identifier"): """
        id ids uid uuid guid identifier identifiant identificador identificativo kennung
        kennziffer personid patientid customerid userid recordid caseid rowid pid patientnumber
        fallnummer patientennummer lfdnr laufendenummer recordnumber index idnr rownumber
        patientno patientnr hospitalno hospitalnr hospitalnumber caseno casenumber customerno
        customernumber memberno membernumber insuranceno kundennummer kundennr mitgliedsnummer
        matricola matricule aktenzeichen numerocliente numeroclient codigocliente
        """,
    Meaning("a survey weight", "undecided"): """
        weights sampleweight samplingweight surveyweight designweight householdweight
        householdweights personweight finalweight weightfinal calibrationweight pweight hhweight
        fnlwgt wgt wgts gewichtung hochrechnungsfaktor ponderation factorexpansion
        """,
    Meaning("the weight of a survey", "undecided"): """
        weights surveyweight samplingweight sampleweight designweight personweight
        householdweight hhweight wgt fnlwgt pweight finalweight expansionfactor
        hochrechnungsfaktor stichprobengewicht ponderation factorexpansion factordeexpansion
        """,
    Meaning("a date of birth", "quasi_identifier"): """
        birth birthdate birthday birthyear dob yob dateofbirth yearofbirth geburt geburtsdatum
        geburtstag geburtsjahr gebdat gebdatum naissance datenaissance datedenaissance
        jahrgang anneenaissance nacimiento fechanacimiento fechadenacimiento nascita datanascita
        datadinascita nascimento datanascimento geboorte geboortedatum geboortejaar fodelsedatum
        fodselsdato syntymaaika
        """,
    Meaning("a date of death", "quasi_identifier"): """
        death dateofdeath deathdate todesdatum sterbedatum deces datedeces fallecimiento decesso
        morte
        """,
    Meaning("an age", "quasi_identifier"): """
        age ages agegroup agerange alter edad eta idade leeftijd alder ika
        """,
    Meaning("a sex or gender", "quasi_identifier"): """
        sex gender geschlecht sexe genre sexo genero sesso genere geslacht kjonn kon sukupuoli
        plec
        """,
    Meaning("a postcode", "quasi_identifier"): """
        zip zipcode zcta postcode postalcode postal plz postleitzahl codepostal cp codigopostal
        cap codicepostale cep postnummer kodpocztowy
        """,
    Meaning("a place", "quasi_identifier"): """
        city town municipality village county district state province region residence location
        country countrycode nation area neighborhood neighbourhood block tract ort stadt wohnort
        gemeinde kreis landkreis bundesland land staat ville commune departement pays ciudad
        localidad municipio provincia pais estado citta comune regione paese cidade concelho
        distrito freguesia stad woonplaats gemeente provincie kommune kommun fylke kaupunki
        miasto urban rural
        """,
    Meaning("an origin", "quasi_identifier"): """
        nationality citizenship race ethnicity ethnic ethnicgroup origin nativecountry birthplace
        placeofbirth birthcountry countryofbirth immigrant migration migrationshintergrund
        nationalitaet staatsangehoerigkeit herkunft geburtsort nationalite origine lieunaissance
        nacionalidad etnia raza cittadinanza nazionalita razza nacionalidade raca nationaliteit
        nationalitet language mothertongue sprache muttersprache langue idioma lingua taal
        """,
    Meaning("a family status", "quasi_identifier"): """
        marital maritalstatus married evermarried civilstatus familystatus relationship
        household householdsize familysize hhsize children numchildren numberofchildren famsize
        dependents familienstand haushaltsgroesse kinder etatcivil situationfamiliale enfants
        estadocivil hijos statocivile figli filhos burgerlijkestaat kinderen sivilstatus
        """,
    Meaning("an education", "quasi_identifier"): """
        education educationnum edu degree school highschool university schooling educationlevel
        educationlevels bildung schulabschluss abschluss ausbildung schule studies etudes
        diplome niveauetudes educacion estudios escuela istruzione titolostudio scuola educacao
        escolaridade escola opleiding utbildning utdanning
        """,
    Meaning("an occupation", "quasi_identifier"): """
        occupation job jobtitle profession employer employment worktype workclass work industry
        beruf beruflich arbeitgeber taetigkeit branche metier emploi employeur profesion empleo
        ocupacion empleador trabajo professione lavoro datoredilavoro profissao ocupacao emprego
        beroep werkgever yrke
        """,
    Meaning("a religion or a conviction", "quasi_identifier"): """
        religion religious denomination konfession confession party politicalparty union
        religione religiao religie
        """,
    Meaning("an event that others may know of", "quasi_identifier"): """
        admission admitted admissiondate discharge discharged dischargedate visit visitdate
        appointment arrival departure hiredate hired hospital clinic ward doctor physician aufnahme
        aufnahmedatum entlassung entlassungsdatum krankenhaus klinik station arzt sortie hopital
        medecin ingreso alta ricovero dimissione ospedale reparto medico internacao opname
        ontslag ziekenhuis
        """,
    Meaning("a body", "quasi_identifier"): """
        height bodyheight bodyweight birthweight bmi eyecolor haircolor bloodtype bloodgroup groesse
        koerpergroesse gewicht taille poids altura peso altezza lengte
        """,
    Meaning("a possession that others see", "quasi_identifier"): """
        car vehicle vehicletype house housing dwelling auto fahrzeug wohnung voiture logement
        vivienda coche macchina casa carro woning
        """,
    Meaning("a disease", "sensitive"): """
        diagnosis diagnoses diagnostic disease causeofdeath deathcause todesursache illness
        condition icd icd10 icd9 disorder symptom symptoms hiv cancer stroke diabetes hypertension
        heartdisease depression problem healthproblem medication drug drugs medicine treatment
        therapy procedure surgery labresult bloodpressure genotype diagnose krankheit erkrankung
        befund medikament behandlung therapie maladie medicament traitement diagnostico enfermedad
        medicamento tratamiento diagnosi malattia farmaco terapia doenca doenga medicacao ziekte
        aandoening medicijn behandeling sykdom sjukdom
        """,
    Meaning("money", "sensitive"): """
        income salary wage wages pay earnings debt credit balance savings expenditure expend
        expenses spending assets wealth loan salaryclass gehalt einkommen lohn verdienst schulden
        vermoegen revenu
        salaire dette ingreso ingresos salario renta deuda reddito stipendio debito rendimento
        inkomen salaris schuld lon inntekt inkomst
        """,
    Meaning("a matter of law", "sensitive"): """
        conviction offence offense crime criminal verdict sentence straftat vorstrafe
        condamnation delito condena reato crimine
        """,
    Meaning("a sexual life", "sensitive"): """
        orientation sexualorientation sexuality pregnant pregnancy schwanger
        """,
    Meaning("a result of somebody", "sensitive"): """
        score grade grades mark marks testresult noten zensur puntuacion calificacion voto nota
        cijfer
        """,
}  # fmt: skip
"""The words for each meaning."""

LONGEST = 5
"""Maximum number of consecutive words that one entry of the table matches."""


def meaning_of(name: str) -> Meaning | None:
    """The meaning of a column by its name, or None.

    >>> for name in ("patient_id", "Geb.-Datum", "E-Mail", "maritalStatus"):
    ...     print((found := meaning_of(name)).part, "·", found.spoken)
    identifier · a number of something
    quasi_identifier · a date of birth
    identifier · an e-mail address
    quasi_identifier · a family status
    >>> meaning_of("x27") is None
    True
    """
    known = [part for part in _parts(name) if part.text in _meanings()]
    best = min(known, key=lambda part: (-part.words, _meanings()[part.text].place), default=None)
    found = _meanings()[best.text].meaning if best else None
    # A column called just "name" more often holds names of people than of things.
    return replace(found, certain=True) if found and words_of(name) == ["name"] else found


class _Placed(NamedTuple):
    """A meaning with its position in the table."""

    place: int
    meaning: Meaning


@cache
def _meanings() -> dict[str, _Placed]:
    """The first meaning of each word of the table."""
    found: dict[str, _Placed] = {}
    for place, (meaning, words) in enumerate(MEANINGS.items()):
        for word in words.split():
            found.setdefault(word, _Placed(place, meaning))
    return found


class _Run(NamedTuple):
    """Consecutive words of a name, written together."""

    words: int
    text: str


def _parts(name: str) -> Iterator[_Run]:
    """Each run of consecutive words of a name, joined."""
    words = words_of(name)
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + LONGEST) + 1):
            yield _Run(end - start, "".join(words[start:end]))


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case without accents and digits.

    >>> words_of("Date_de_naissance2"), words_of("KFZKennzeichen"), words_of("größe")
    (['date', 'de', 'naissance'], ['kfz', 'kennzeichen'], ['groesse'])
    """
    for letter, plain in (
        ("ä", "ae"),
        ("ö", "oe"),
        ("ü", "ue"),
        ("ß", "ss"),
        ("ø", "o"),
        ("ł", "l"),
    ):
        name = name.replace(letter, plain).replace(letter.upper(), plain.capitalize())
    decomposed = unicodedata.normalize("NFKD", name)
    plain_name = "".join(each for each in decomposed if not unicodedata.combining(each))
    apart = re.sub(r"([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3 \2", plain_name)
    return re.findall(r"[a-z]+", apart.casefold())
